/**
 * Results for people: Markdown tables.
 */
import { cpus, loadavg, totalmem } from 'node:os'
import type { Boundary } from './boundary.ts'
import type { Result } from './measure.ts'
import type { Footprint } from './memory.ts'
import type { Operations } from './operations.ts'

/** Everything that one run has found. */
export interface Report {
  readonly machine: Readonly<Record<string, string>>
  readonly cases: readonly Result[]
  readonly operations: readonly Operations[]
  readonly boundary: readonly Boundary[]
  readonly memory: readonly Footprint[]
}

/**
 * Describe the machine.
 * @returns what the figures depend on.
 */
export function machine(): Record<string, string> {
  const processors = cpus()
  return {
    processor: `${processors.length} x ${processors[0]?.model.trim() ?? process.arch}`,
    memory: `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    load: `load ${loadavg().map(load => load.toFixed(1)).join(' ')}`,
  }
}

/** Three significant digits are all that such a figure can carry. */
function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** How far above the floor; nothing can be said where the floor is nothing. */
function above(value: number, floor: number): string {
  return floor === 0 ? '-' : digits(value / floor)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map(row => (row[column] as string).length)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => column === 0 ? cell.padEnd(widths[column] as number) : cell.padStart(widths[column] as number)).join(' | ')} |`
  const rule = widths.map((width, column) => column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

function caseRow(result: Result): string[] {
  const { name, target, published, ours, ratio, operations, floor } = result
  return [
    name,
    digits(published.median),
    digits(ours.median),
    `${digits(ratio)}x`,
    target === undefined ? '' : `${target}x`,
    `${operations.published} / ${operations.ours}`,
    `${digits(floor.published.median)} / ${digits(floor.ours.median)}`,
    `${above(ours.median, floor.published.median)} / ${above(ours.median, floor.ours.median)}`,
  ]
}

/**
 * Write the report.
 * @param report - what was found.
 * @returns Markdown.
 */
export function markdown({ machine: described, cases, operations, boundary, memory }: Report): string {
  const parts = [Object.values(described).join(', ')]
  if (cases.length > 0) {
    parts.push('Medians in ms. Operations: provider calls, published / ours. Floor: these calls issued at once with no plugin around them.')
    const head = ['case', 'published', 'ours', 'ratio', 'target', 'operations', 'floor of them', 'ours by floor']
    parts.push(table(head, cases.map(caseRow)))
    const more = cases.filter(({ operations }) => operations.ours > operations.published).map(({ name }) => name)
    parts.push(`More provider operations than published: ${more.length === 0 ? 'in no case' : more.join('; ')}.`)
  }
  if (operations.length > 0) {
    parts.push('Provider operations over random projects, all added up, and in how many projects this package asked more.')
    parts.push(table(
      ['phase', 'published', 'ours', 'projects with more', 'the worst of them'],
      operations.map(({ phase, published, ours, more, worst }) => [
        phase,
        `${published}`,
        `${ours}`,
        `${more}`,
        worst === undefined ? '' : `${worst.published} / ${worst.ours}, ${worst.project}`,
      ]),
    ))
  }
  if (boundary.length > 0) {
    parts.push('The boundary: one batch out through the threadsafe function and its answers back, with a provider that does nothing.')
    parts.push(table(
      ['operations in a batch', 'us for one round', 'of it, a turn of the event loop'],
      boundary.map(({ operations, round, loop }) => [`${operations}`, digits(round * 1000), digits(loop * 1000)]),
    ))
  }
  if (memory.length > 0) {
    parts.push('An idle session that has seen its baseline (in memory, depth 3), in KiB after a collection.')
    parts.push(table(
      ['side', 'resident', 'heap', 'external'],
      memory.map(({ side, resident, heap, external }) => [side, digits(resident), digits(heap), digits(external)]),
    ))
  }
  return parts.join('\n\n')
}
