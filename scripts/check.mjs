// @ts-check
/** `npm run check`: every quality gate, also after one has failed. Each is an npm script of its own. */
import { isMain, run } from './steps.mjs'

/** Names of the npm scripts; they expect a checkout that is built and packed. */
export const gates = [
  'check:packages',
  'check:policy',
  'check:tsc',
  'check:types',
  'check:knip',
  'check:publint',
  'check:attw',
  'check:nodes',
  'check:deny',
]

if (isMain(import.meta.url)) {
  const failed = []
  for (const gate of gates) if (!(await run(gate, ['npm', 'run', '--silent', gate])).passed) failed.push(gate)
  console.log(`\n${gates.length - failed.length} of ${gates.length} gates passed${failed.map(gate => `, ${gate} failed`).join('')}`)
  process.exitCode = failed.length === 0 ? 0 : 1
}
