/**
 * Picks the workspace-instruction messages out of the requests and puts each into a
 * few words. Only for the eyes and for a script's `sees`: the comparison itself works
 * on the whole text.
 */
import type { ReceivedRequest } from './scripted-model.ts'

interface WireMessage {
  role: string
  content: unknown
}

const frame = '<system-reminder>\n'
// A message without room for its frame starts with the notice.
const notice = 'Workspace instruction budget '
const verbs: Record<string, string> = {
  'Instructions from': 'baseline',
  'Additional instructions from': 'added',
  'Updated instructions from': 'updated',
  'Instructions removed': 'removed',
}

/**
 * Put one message into a few words.
 * @param text - a message's whole text.
 * @returns the short form, or nothing when this is no workspace-instruction message.
 */
function summarize(text: string): string | undefined {
  if (!text.startsWith(frame) && !text.startsWith(notice)) return undefined
  const parts: string[] = []
  for (const line of text.split('\n')) {
    const [, kind = '', path = ''] = /^([A-Z][a-z ]+): (.+)$/.exec(line) ?? []
    if (verbs[kind] !== undefined) parts.push(`${verbs[kind]} ${path}`)
    if (line.startsWith(notice)) parts.push('budget notice')
  }
  return parts.length === 0 ? undefined : parts.join(', ')
}

/**
 * List every workspace-instruction message that a model received.
 * @param received - requests of one process, in order.
 * @returns each message once, where it first appeared, in its short form.
 */
export function instructionMessages(received: ReceivedRequest[]): string[] {
  const seen: string[] = []
  const known = new Map<string, number>()
  for (const request of received) {
    if (request.kind !== 'conversation') continue
    const { messages } = JSON.parse(request.body) as { messages: WireMessage[] }
    // A later request repeats the history, so a text counts as new only beyond the
    // number of times that its session has shown it before.
    const counts = new Map<string, number>()
    for (const message of messages) {
      if (message.role !== 'user' || typeof message.content !== 'string') continue
      const short = summarize(message.content)
      if (short === undefined) continue
      const key = `${request.session}\n${message.content}`
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      if (count <= (known.get(key) ?? 0)) continue
      known.set(key, count)
      seen.push(short)
    }
  }
  return seen
}
