/**
 * Reads a durable log as it stands once its projections have settled. Touches that arrive together are
 * projected together by the native package, so its log lacks the intermediate inbox messages that the published
 * one writes and cancels at once. They are taken out on both sides, and what counts events is counted anew.
 */

interface LogEvent {
  type: string
  seq?: number
  data?: {
    target?: string
    start?: number
    removedCount?: number
    inserted?: { source?: { kind?: string } }[]
    outcome?: string
  }
  [key: string]: unknown
}

/** Fields that name an event by its place in the log. */
const REFERENCES = new Set(['seq', 'sourceEventSeqs', 'start', 'end', 'chunkSeqs'])

/**
 * Take out every instruction message that another one replaced at once.
 * @param text - the log, one JSON object a line.
 * @returns the log without them, its sequence numbers contiguous again.
 */
export function settleLog(text: string): string {
  const events = text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as LogEvent)
  const kept: LogEvent[] = []
  for (const event of events) {
    const before = kept.at(-1)
    if (before !== undefined && replacesAtOnce(before, event)) {
      // The message that stays takes the place, and the outcome, that the first of them had.
      const { removedCount: _removed, outcome: _outcome, ...data } = event.data ?? {}
      const { removedCount, outcome } = before.data ?? {}
      kept[kept.length - 1] = {
        ...before,
        data: { ...data, ...(removedCount === undefined ? {} : { removedCount }), ...(outcome === undefined ? {} : { outcome }) },
      }
    } else {
      kept.push(event)
    }
  }
  const places = new Map<number, number>()
  let place = 0
  for (const { seq } of kept) if (seq !== undefined) places.set(seq, place++)
  return kept.map((event) => `${JSON.stringify(renumber(event, places))}\n`).join('')
}

function replacesAtOnce(before: LogEvent, event: LogEvent): boolean {
  const [first, second] = [before.data, event.data]
  return before.type === 'agent/inbox/spliced' && event.type === 'agent/inbox/spliced'
    && isInstructions(first) && isInstructions(second)
    && second?.removedCount === 1 && second.target === first?.target && second.start === first?.start
}

function isInstructions(data: LogEvent['data']): boolean {
  return data?.inserted?.length === 1 && data.inserted[0]?.source?.kind === 'agent-instructions'
}

/** Only an event's own fields and its surface operation refer to places; a splice's `start` is in its data. */
function renumber(event: LogEvent, places: ReadonlyMap<number, number>): LogEvent {
  const at = (value: unknown): unknown => {
    if (typeof value === 'number') return places.get(value) ?? value
    if (Array.isArray(value)) return value.map(at)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, REFERENCES.has(key) ? at(inner) : inner]))
  }
  return Object.fromEntries(Object.entries(event).map(([key, value]) => [
    key,
    REFERENCES.has(key) || key === 'surfaceOp' ? at(value) : value,
  ])) as LogEvent
}
