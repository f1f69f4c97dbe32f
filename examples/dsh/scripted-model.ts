/**
 * A model that follows a script: an OpenAI-compatible, streaming chat-completions
 * server on loopback. It answers every request with the next reply of the script and
 * keeps the exact text of everything that it was sent.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One tool call that the model makes. */
export interface ToolCall {
  tool: string
  args: Record<string, unknown>
}

/** What the model answers to one request. */
export interface Reply {
  /** Final text; ends the turn unless there are calls too. */
  say?: string
  /** Tool calls, all in one assistant message. */
  calls?: ToolCall[]
  /** Refuse the request, with this code in the error that is sent. */
  refuse?: 'invalid_request' | 'context_length_exceeded'
  /** Work done on the disk after the request arrived and before it is answered. */
  meanwhile?: () => void
}

/** One request as the model received it. */
export interface ReceivedRequest {
  /** A summary request of the harness's compaction is not a step of the script. */
  kind: 'conversation' | 'compaction'
  session: string
  /** The body's text, untouched. */
  body: string
}

/** A listening scripted model. */
export class ScriptedModel {
  /** Called at every request, before it is answered. */
  onRequest: () => void = () => {}
  readonly #server: Server
  #replies: Reply[] = []
  #received: ReceivedRequest[] = []
  #errors: string[] = []
  #calls = 0

  constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        this.#errors.push(String(error))
        response.destroy()
      })
    })
  }

  /**
   * Start to listen on a free port of the loopback interface.
   * @returns the base URL for `DEEPSEEK_BASE_URL`.
   */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  /** Stop listening and drop the connections that are still open. */
  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /**
   * Load the replies of the next process; what was received before is forgotten.
   * @param replies - in the order in which they will be given.
   */
  play(replies: Reply[]): void {
    this.#replies = [...replies]
    this.#received = []
    this.#errors = []
    this.#calls = 0
  }

  /**
   * Report what happened since {@link play}.
   * @returns the requests in order of arrival, and what went wrong.
   */
  result(): { received: ReceivedRequest[]; problems: string[] } {
    const problems = [...this.#errors]
    if (this.#replies.length > 0) problems.push(`${this.#replies.length} replies were never asked for`)
    return { received: this.#received, problems }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const isCompaction = request.headers['x-deepseek-harness-compact'] !== undefined
    this.#received.push({
      kind: isCompaction ? 'compaction' : 'conversation',
      session: String(request.headers['x-deepseek-harness-session-id'] ?? ''),
      body,
    })
    this.onRequest()
    const reply = isCompaction ? { say: 'A summary of the work so far.' } : this.#replies.shift()
    if (reply === undefined) {
      refuse(response, 'invalid_request', 'the script has no reply left')
      return
    }
    reply.meanwhile?.()
    if (reply.refuse !== undefined) {
      refuse(response, reply.refuse, 'the script refuses this request')
      return
    }
    this.#stream(response, reply)
  }

  #stream(response: ServerResponse, reply: Reply): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (delta: object, finish: string | null, extra: object = {}): void => {
      const chunk = {
        id: 'scripted',
        object: 'chat.completion.chunk',
        created: 0,
        model: 'scripted',
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...extra,
      }
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    }
    if (reply.say !== undefined) send({ role: 'assistant', content: reply.say }, null)
    const calls = (reply.calls ?? []).map((call, index) => ({
      index,
      // Numbered, not random: the ids come back in later requests.
      id: `call_${++this.#calls}`,
      type: 'function',
      function: { name: call.tool, arguments: JSON.stringify(call.args) },
    }))
    if (calls.length > 0) send({ role: 'assistant', tool_calls: calls }, null)
    send({}, calls.length > 0 ? 'tool_calls' : 'stop', {
      usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
    })
    response.end('data: [DONE]\n\n')
  }
}

function refuse(response: ServerResponse, code: string, message: string): void {
  // 400, because the harness tries again after any status that may pass.
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', code } }))
}
