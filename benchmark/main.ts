/**
 * `npm run bench`: the published package and this one in turn, in one process, on
 * the real host. Tables go to standard output, progress to standard error.
 */
import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { measureBoundary } from './boundary.ts'
import { cases } from './cases.ts'
import { measure } from './measure.ts'
import type { Effort, Result } from './measure.ts'
import { measureMemory } from './memory.ts'
import { countOperations } from './operations.ts'
import { machine, markdown } from './report.ts'
import type { Report } from './report.ts'

const thorough: Effort = { seconds: 6, rounds: 15, warmUp: 2 }
const quick: Effort = { seconds: 1, rounds: 5, warmUp: 0.3 }

const command = new Command('bench')
  .description('Compare the published package with this one, case by case.')
  .option('--case <substring>', 'only cases whose name contains this; also "operations over random projects", "boundary" and "memory per session"')
  .option('--json <file>', 'write the results to a file as well')
  .option('--quick', 'fewer repetitions: for a look, not for a figure')
  .parse()
const options = command.opts<{ case?: string, json?: string, quick?: true }>()
const effort = options.quick ? quick : thorough
const wanted = (name: string) => options.case === undefined || name.includes(options.case)
const progress = (text: string) => process.stderr.write(`${text}\n`)

if (globalThis.gc === undefined) progress('without --expose-gc a lane may pay for the garbage of another one')

const results: Result[] = []
for (const line of cases.filter(({ name }) => wanted(name))) {
  const result = await measure(line, effort)
  results.push(result)
  progress(`${line.name}: ${result.published.median.toFixed(2)} / ${result.ours.median.toFixed(2)} (${result.ours.samples} rounds)`)
}
const report: Report = {
  machine: machine(),
  cases: results,
  operations: wanted('operations over random projects') ? await countOperations(options.quick ? 60 : 300) : [],
  boundary: wanted('boundary') ? await measureBoundary(effort) : [],
  memory: wanted('memory per session') ? await measureMemory(options.quick ? 400 : 2000) : [],
}
if (results.length + report.operations.length + report.boundary.length + report.memory.length === 0) command.error(`no case is called "${options.case}"`)

console.log(markdown(report))
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
// Times are never asserted; the number of operations does not depend on the machine.
const asksMore = results.some(({ operations }) => operations.ours > operations.published) || report.operations.some(({ more }) => more > 0)
if (asksMore) process.exitCode = 1
