/**
 * A long past: what the log of a session holds after a lot of work.
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'

const EVENTS_PER_TURN = 100

/**
 * Make the log of a session that has worked for long: turns of one prompt and a streamed answer.
 * @param count - how many events.
 * @returns a log that a session can be resumed from; nothing in it concerns instructions.
 */
export function longPast(count: number): SessionEvent[] {
  const events: SessionEvent[] = []
  const append = (type: string, data: object, rest: object = {}) => {
    events.push({ type, seq: events.length, time: 0, data, ...rest } as SessionEvent)
  }
  for (let turn = 1; events.length < count; turn++) {
    append('turn/start', { turn })
    append('step/start', { turn, step: 1 })
    const content = [{ type: 'text' as const, text: 'go on' }]
    append('user/message', createUserMessage({ content, source: { kind: 'user' } }), { surfaceOp: 'append' })
    for (let index = 5; index < EVENTS_PER_TURN; index++) {
      append('assistant/chunk', { turn, step: 1, chunk: { type: 'text-delta', text: 'a few words' } })
    }
    append('step/end', { turn, step: 1 })
    append('turn/end', { turn, reason: { kind: 'completed' } })
  }
  return events
}
