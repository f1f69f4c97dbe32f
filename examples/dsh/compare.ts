/**
 * Compares two transcripts byte for byte. Only what no two processes share is replaced
 * first: random identifiers (by their order of appearance, so that a swapped one still
 * shows), times of events, process ids in Node's warnings, and the directory of the install
 * in a stack trace.
 */
import type { Piece } from './harness.ts'

const identifier = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
const processId = /^\(node:\d+\)/gm
const eventTime = /"(time|createdAt)":\d{13}\b/g

/**
 * Replace what is truly volatile in a transcript.
 * @param pieces - observed texts, in order.
 * @param installDirectory - the install that the transcript comes from.
 * @returns the same pieces with placeholders.
 */
export function normalize(pieces: Piece[], installDirectory: string): Piece[] {
  const numbers = new Map<string, number>()
  return pieces.map(({ title, text }) => ({
    title,
    text: text
      .replaceAll(installDirectory, '<install>')
      .replace(identifier, (id) => {
        if (!numbers.has(id)) numbers.set(id, numbers.size + 1)
        return `<id ${numbers.get(id)}>`
      })
      .replace(processId, '(node:<process>)')
      .replace(eventTime, '"$1":"<time>"'),
  }))
}

/**
 * Compare two normalized transcripts.
 * @param left - pieces of the published side.
 * @param right - pieces of the native side.
 * @returns one readable difference per piece that differs; empty when identical.
 */
export function compare(left: Piece[], right: Piece[]): string[] {
  const differences: string[] = []
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const [published, native] = [left[index], right[index]]
    if (published?.title === native?.title && published?.text === native?.text) continue
    if (published === undefined || native === undefined || published.title !== native.title) {
      differences.push(`published has "${published?.title ?? 'nothing'}", native has "${native?.title ?? 'nothing'}"`)
      // From here on the pieces no longer belong together.
      break
    }
    differences.push(`${published.title}:\n${describe(published.text, native.text)}`)
  }
  return differences
}

/**
 * Write a transcript as one text, for a person with a diff tool.
 * @param pieces - normalized pieces.
 * @returns the text.
 */
export function render(pieces: Piece[]): string {
  return pieces.map(({ title, text }) => `=== ${title}\n${readable(text).join('\n')}\n`).join('\n')
}

/** Show the lines between the common beginning and the common end of two texts. */
function describe(left: string, right: string): string {
  let [a, b] = [readable(left), readable(right)]
  // Texts that read the same still differ in their bytes; then show those.
  if (a.join('\n') === b.join('\n')) [a, b] = [[left], [right]]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1
  const shown = [
    ...cut(a.slice(start, a.length - end)).map((line) => `  - ${line}`),
    ...cut(b.slice(start, b.length - end)).map((line) => `  + ${line}`),
  ]
  return shown.join('\n')
}

/** Break JSON into one value a line, and the strings in it at their own line ends. */
function readable(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    try {
      return JSON.stringify(JSON.parse(line), null, 1).replaceAll('\\n', '\\n\n').split('\n')
    } catch {
      return [line]
    }
  })
}

function cut(lines: string[]): string[] {
  const most = 12
  const shown = lines.length > most ? [...lines.slice(0, most), `… ${lines.length - most} more lines`] : lines
  return shown.map((line) => (line.length > 200 ? `${line.slice(0, 200)}…` : line))
}
