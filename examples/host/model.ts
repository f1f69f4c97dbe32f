/**
 * A model that follows a script: an adapter for dsh-llm that answers each request with the
 * next reply, and keeps every request as it came.
 */
import { CallId, LlmAdapter } from '@deepseek-ai/dsh-llm'
import type { GenerateOptions, Message, StreamChunk } from '@deepseek-ai/dsh-llm'

/** One answer: a tool call, or a text that ends the turn. */
export type Reply =
  | { tool: 'read' | 'write' | 'edit', arguments: Record<string, string> }
  | { say: string }

/** The model of the demo. */
export class ScriptedModel extends LlmAdapter {
  /** The messages of every request, in order of arrival. */
  readonly requests: (readonly Message[])[] = []
  private replies: Reply[] = []
  private calls = 0

  /**
   * Set what the model answers next.
   * @param replies - one reply for each request to come.
   */
  script(replies: readonly Reply[]): void {
    this.replies = [...replies]
  }

  /** Replies that no request has asked for. */
  get unsaid(): number {
    return this.replies.length
  }

  async * stream(request: GenerateOptions): AsyncIterable<StreamChunk> {
    this.requests.push(structuredClone(request.messages))
    const reply = this.replies.shift()
    if (reply === undefined) throw new Error('the script has no reply to this request')
    const calls = 'tool' in reply
    yield { type: 'block-start', index: 0, blockType: calls ? 'tool-call' : 'text' }
    yield {
      type: 'block-end',
      index: 0,
      block: calls
        ? { type: 'tool-call', id: CallId(`call-${++this.calls}`), name: reply.tool, arguments: JSON.stringify(reply.arguments) }
        : { type: 'text', text: reply.say },
    }
    yield { type: 'finish', reason: { kind: calls ? 'tool-calls' : 'stop' } }
  }
}
