/**
 * An inspection as people read it: a table, a bar for each message's budget, and the sums.
 *
 * Pure: the width and whether there are colours come from the caller. Every piece of text that a repository chose
 * is made harmless to a terminal first. A wide screen has the notes in a column; on a narrow one each stands below its row, so
 * that paths stay readable.
 *
 * @module @deepseek-ai/dsh-agent-instructions/cli-table
 */
import type { InspectedInstruction, InstructionInspection, InstructionState } from './inspect.ts'

/** How a table is to look. */
export interface TableOptions {
  /** Columns of the screen. */
  width: number
  /** Whether ANSI colours are used. */
  color: boolean
  /** List absent candidates too, instead of counting them. */
  all?: boolean
  /** The least `maxBytes` under which everything would be loaded, if that is not the case. */
  needed?: number | undefined
}

/** One message that a session gets. */
export interface InspectedMessage {
  /** Which one: `baseline` or `touch`. */
  readonly name: InspectedInstruction['message']
  /** Its exact text. */
  readonly text: string
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'
type Paint = (style: Style, text: string) => string

const SGR: Record<Style, number> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 }
const STATE_STYLE: Record<InstructionState, Style> = {
  loaded: 'green',
  truncated: 'yellow',
  omitted: 'red',
  duplicate: 'dim',
  absent: 'dim',
  unavailable: 'red',
  oversized: 'red',
  refused: 'red',
  disabled: 'dim',
}
const STATES = Object.keys(STATE_STYLE) as InstructionState[]
const GAP = '  '
const STATE_COLUMN = Math.max(...STATES.map(state => state.length))
const INDENT = STATE_COLUMN + GAP.length
/** A path or a note is not squeezed below this beside the other. */
const COMFORTABLE = 40
const MAX_BAR = 40

/**
 * Whether something stands at a candidate's path that a session is not told in full.
 * @param file - the inspected candidate.
 * @returns false for a file that is loaded, or repeats one that is looked at itself, and where nothing is.
 */
export function fallsShort(file: InspectedInstruction): boolean {
  if (file.state === 'absent') return file.reason !== undefined
  return file.state !== 'loaded' && file.state !== 'duplicate'
}

/**
 * Name the messages of an inspection.
 * @param inspection - the inspection.
 * @returns its rendered texts, each with the message that it is.
 */
export function messagesOf({ files, rendered }: InstructionInspection): InspectedMessage[] {
  // A baseline is rendered if, and only if, one of its files could be read.
  const hasBaseline = files.some(({ message, digest }) => message === 'baseline' && digest !== undefined)
  return rendered.map((text, index) => ({ name: hasBaseline && index === 0 ? 'baseline' : 'touch', text }))
}

/**
 * Say in a few words why a candidate is in its state.
 * @param file - the inspected candidate.
 * @param inspection - the inspection that it is part of.
 * @returns the words; empty when the state says it all.
 */
export function noteOf(file: InspectedInstruction, inspection: InstructionInspection): string {
  switch (file.state) {
    case 'truncated': return `cut from ${count(file.bytes)} to ${count(file.includedBytes)} bytes`
    // What the budget leaves out has been read.
    case 'omitted': return file.digest === undefined ? 'no room in maxTotalSourceBytes' : 'no room in the budget'
    case 'duplicate': {
      const path = harmless(file.duplicateOf ?? '')
      const original = inspection.files.find(other => other !== file && other.displayPath === file.duplicateOf)
      // Only files of one directory are compared by their text.
      return original?.absolutePath === file.absolutePath ? `same file as ${path}` : `same text as ${path.replace(/.*\//, '')} beside it`
    }
    case 'oversized':
      return (file.bytes ?? Number.POSITIVE_INFINITY) > inspection.maxSourceBytes
        ? `over maxSourceBytes, ${count(inspection.maxSourceBytes)}`
        : 'over maxTotalSourceBytes'
    case 'disabled': return `maxBytes ${count(inspection.maxBytes)} turns loading off`
    case 'unavailable':
    case 'refused': return harmless(file.reason ?? 'it could not be read')
    default: return harmless(file.reason ?? '')
  }
}

/**
 * Count candidates by state.
 * @param inspection - the inspection.
 * @returns for instance `5 files: 3 loaded, 1 truncated, 1 omitted; 8 absent`.
 */
export function sumsOf({ files }: InstructionInspection): string {
  const numberOf = (state: InstructionState) => files.filter(file => file.state === state).length
  const present = STATES.filter(state => state !== 'absent' && numberOf(state) > 0).map(state => `${numberOf(state)} ${state}`)
  const absent = numberOf('absent')
  const total = files.length - absent
  return `${total} ${total === 1 ? 'file' : 'files'}${present.length > 0 ? `: ${present.join(', ')}` : ''}; ${absent} absent`
}

/**
 * Say how much of its budget a message takes.
 * @param message - the message.
 * @param maxBytes - the budget.
 * @returns for instance `1,204 of 65,536 bytes, 1.8%`.
 */
export function usageOf({ text }: InspectedMessage, maxBytes: number): string {
  const bytes = Buffer.byteLength(text)
  return `${count(bytes)} of ${count(maxBytes)} bytes, ${percent(bytes / maxBytes)}`
}

/**
 * Lay an inspection out.
 * @param inspection - the inspection.
 * @param options - width, colours and extent.
 * @returns lines, none wider than the screen, each ended by a line feed.
 */
export function renderTable(inspection: InstructionInspection, options: TableOptions): string {
  const paint: Paint = options.color ? (style, text) => text === '' ? '' : `\x1b[${SGR[style]}m${text}\x1b[0m` : (_, text) => text
  const width = Math.max(options.width, COMFORTABLE)
  const lines = [
    ...fields({ Session: inspection.cwd, 'Project root': inspection.projectRoot, Home: inspection.dshHome }, width, paint),
    '',
    ...table(inspection, width, paint, options.all ?? false),
    ...budget(inspection, width, paint),
    ...wrap(`${sumsOf(inspection)}.`, width),
    ...(options.needed === undefined ? [] : wrap(`With maxBytes ${count(options.needed)} nothing would be left out or cut.`, width)),
  ]
  return lines.map(line => `${line.trimEnd()}\n`).join('')
}

function fields(values: Record<string, string>, width: number, paint: Paint): string[] {
  const label = Math.max(...Object.keys(values).map(name => name.length)) + GAP.length
  return Object.entries(values).map(([name, value]) => paint('bold', pad(name, label)) + shorten(harmless(value), width - label))
}

function table(inspection: InstructionInspection, width: number, paint: Paint, all: boolean): string[] {
  const { files, touch } = inspection
  const listed = files.filter(file => all || file.state !== 'absent' || file.reason !== undefined)
  const rows = listed.map(file => ({
    file,
    path: harmless(file.displayPath),
    bytes: file.bytes === undefined ? '' : count(file.bytes),
    share: file.messageBytes === 0 ? '' : percent(file.budgetShare),
    note: noteOf(file, inspection),
  }))
  const widest = (texts: string[]) => Math.max(0, ...texts.map(displayWidth))
  const bytesColumn = widest(['BYTES', ...rows.map(row => row.bytes)])
  const shareColumn = widest(['SHARE', ...rows.map(row => row.share)])
  const room = width - INDENT - bytesColumn - shareColumn - 2 * GAP.length
  const paths = widest(['FILE', ...rows.map(row => row.path)])
  const notes = widest(rows.map(row => row.note))
  const besides = room - GAP.length - Math.min(notes, COMFORTABLE)
  const hasColumn = notes > 0 && besides >= Math.min(paths, COMFORTABLE)
  const pathColumn = Math.min(paths, hasColumn ? besides : room)
  const noteColumn = hasColumn ? room - GAP.length - pathColumn : width - INDENT

  const cells = (path: string, bytes: string, share: string) =>
    GAP + pad(shorten(path, pathColumn), pathColumn) + GAP + bytes.padStart(bytesColumn) + GAP + share.padStart(shareColumn)
  const lines: string[] = []
  if (rows.length > 0) {
    const heading = pad('STATE', STATE_COLUMN) + cells('FILE', 'BYTES', 'SHARE')
    lines.push(paint('bold', heading + (hasColumn ? `${GAP}NOTE` : '')))
  }
  for (const [index, { file, path, bytes, share, note }] of rows.entries()) {
    if (file.message === 'touch' && rows[index - 1]?.file.message !== 'touch') lines.push('', ...touching('adds'))
    const [beside = '', ...below] = hasColumn ? wrap(note, noteColumn) : ['', ...wrap(note, noteColumn)]
    const margin = ' '.repeat(hasColumn ? width - noteColumn : INDENT)
    const state = paint(file.state === 'absent' && fallsShort(file) ? 'yellow' : STATE_STYLE[file.state], pad(file.state, STATE_COLUMN))
    lines.push(state + cells(path, bytes, share) + GAP + paint('dim', beside))
    lines.push(...below.filter(line => line !== '').map(line => margin + paint('dim', line)))
  }
  if (touch !== undefined && !rows.some(({ file }) => file.message === 'touch')) {
    const reached = files.some(file => file.message === 'touch')
    lines.push(...touching(reached ? 'adds nothing' : 'adds nothing: only directories below the session\'s count'))
  }
  const counted = files.length - listed.length
  if (counted > 0) lines.push(...wrap(`${count(counted)} ${counted === 1 ? 'candidate is' : 'candidates are'} absent; --all lists them.`, width))
  return [...lines, '']

  function touching(what: string): string[] {
    return wrap(`Touching ${harmless(touch ?? '')} ${what}`, width).map(line => paint('bold', line))
  }
}

function budget(inspection: InstructionInspection, width: number, paint: Paint): string[] {
  const { files, maxBytes } = inspection
  if (!(maxBytes > 0 && Number.isFinite(maxBytes))) return [`Loading is off: maxBytes is ${count(maxBytes)}.`]
  const messages = messagesOf(inspection)
  if (messages.length === 0) return [`Budget  ${count(maxBytes)} bytes, none of them used`]
  const names = inspection.touch === undefined ? { baseline: 'Budget', touch: '' } : { baseline: 'Baseline', touch: 'Touch' }
  const label = Math.max(...messages.map(({ name }) => names[name].length)) + GAP.length
  const usages = alignRight(messages.map(message => usageOf(message, maxBytes).split(' ')))
  const usageColumn = Math.max(...usages.map(usage => usage.length))
  const length = Math.max(0, Math.min(MAX_BAR, width - label - usageColumn - GAP.length))
  return messages.map((message, index) => {
    const share = Math.min(1, Buffer.byteLength(message.text) / maxBytes)
    // A bar is full only when the budget is, and empty only when nothing is said.
    const full = Math.min(Math.max(Math.round(share * length), 1), share < 1 ? Math.max(1, length - 1) : length)
    const short = files.some(file => file.message === message.name && fallsShort(file))
    const bar = length < 8 ? '' : paint(short ? 'yellow' : 'green', '█'.repeat(full)) + paint('dim', '░'.repeat(length - full)) + GAP
    return paint('bold', pad(names[message.name], label)) + bar + usages[index]
  })
}

/** Lines of as many words each, every word under its like. */
function alignRight(lines: readonly string[][]): string[] {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map(words => (words[column] ?? '').length))) ?? []
  return lines.map(words => words.map((word, column) => word.padStart(widths[column] ?? 0)).join(' '))
}

function count(value: number | undefined): string {
  return value === undefined ? '?' : Number.isFinite(value) ? value.toLocaleString('en-US') : String(value)
}

function percent(share: number): string {
  return share > 0 && share < 0.0005 ? '<0.1%' : `${(100 * share).toFixed(1)}%`
}

/** Controls, line separators and characters that reorder text, as escapes: a file name must not steer a terminal. */
function harmless(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, character =>
    ({ '\n': '\\n', '\r': '\\r', '\t': '\\t' })[character] ?? `\\u{${(character.codePointAt(0) as number).toString(16)}}`)
}

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Begins with a character that takes two columns: East Asian wide and fullwidth ones, and emoji. */
const WIDE = /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u
const COMBINING = /^[\p{Mn}\p{Me}\p{Cf}]/u

function graphemes(text: string): string[] {
  return Array.from(GRAPHEMES.segment(text), ({ segment }) => segment)
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme) || grapheme.includes('\ufe0f')) return 2
  return COMBINING.test(grapheme) ? 0 : 1
}

/**
 * Columns that a text takes on a terminal.
 * @param text - text without controls.
 * @returns the number of columns.
 */
export function displayWidth(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0)
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/**
 * Take out the middle of a text that is too wide; of a path, the end tells most.
 * @param text - text without controls.
 * @param width - columns that it may take.
 * @returns the text, or its ends around an ellipsis.
 */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  const head = Math.floor((width - 1) / 3)
  const all = graphemes(text)
  return `${take(all, head)}…${take(all.toReversed(), width - 1 - head, true)}`
}

/** As many graphemes as fit, put together in reading order. */
function take(all: readonly string[], width: number, backwards = false): string {
  let taken = ''
  let left = width
  for (const grapheme of all) {
    left -= graphemeWidth(grapheme)
    if (left < 0) break
    taken = backwards ? grapheme + taken : taken + grapheme
  }
  return taken
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ').map(word => shorten(word, width))) {
    const line = lines.at(-1)
    if (line !== undefined && displayWidth(line) + 1 + displayWidth(word) <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
