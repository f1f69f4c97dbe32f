// @ts-check
/**
 * `bash .ci/run`: everything that is checked on a fresh clone or on a built one. Counts each test of vitest and of
 * cargo, and each other step as one; the last line is `N passed, N failed`.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gates } from './check.mjs'
import { readJson, root } from './manifest.mjs'
import { isMain, run } from './steps.mjs'

/** What hangs is ended in time to run the other steps, and to say so. */
const STEP_LIMIT = 18 * 60_000
const LIMIT = 28 * 60_000
const REPORT = join(root, '.cache', 'vitest.json')

/** @typedef {{ passed: number, failed: number }} Count */
/** @typedef {{ passed: boolean, output: string }} Ending */

/**
 * Count a step that is a single check.
 * @param {Ending} ending
 * @returns {Count}
 */
export const one = ({ passed }) => ({ passed: passed ? 1 : 0, failed: passed ? 0 : 1 })

/**
 * A runner that failed although none of its tests did has failed all the same: a file did not load, or nothing ran.
 * @param {Ending} ending
 * @param {Count} count
 * @returns {Count}
 */
export const atLeast = (ending, { passed, failed }) => ({ passed, failed: Math.max(failed, ending.passed && passed > 0 ? 0 : 1) })

/**
 * Count cargo's tests.
 * @param {Ending} ending
 * @returns {Count}
 */
export function cargoTests(ending) {
  const results = [...ending.output.matchAll(/^test result: .*?(\d+) passed; (\d+) failed/gm)]
  const sum = (/** @type {number} */ group) => results.reduce((total, match) => total + Number(match[group]), 0)
  return atLeast(ending, { passed: sum(1), failed: sum(2) })
}

/**
 * Count vitest's tests from its JSON report.
 * @param {Ending} ending
 * @param {{ numPassedTests: number, numFailedTests: number } | undefined} report
 * @returns {Count}
 */
export function vitestTests(ending, report) {
  return atLeast(ending, { passed: report?.numPassedTests ?? 0, failed: report?.numFailedTests ?? 0 })
}

/** @type {{ title: string, command: string[], count: (ending: Ending) => Count }[]} */
const steps = [
  {
    title: 'tests',
    command: ['npm', 'test', '--', '--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`],
    count: ending => vitestTests(ending, existsSync(REPORT) ? readJson(REPORT) : undefined),
  },
  { title: 'demo', command: ['npm', 'run', 'demo'], count: one },
  { title: 'demo in the real harness', command: ['npm', 'run', 'demo:dsh'], count: one },
  { title: 'tests of the core', command: ['cargo', 'test', '--locked', '--no-default-features'], count: cargoTests },
  { title: 'tests of the core link with the binding', command: ['cargo', 'test', '--locked', '--no-run'], count: one },
  { title: 'clippy', command: ['cargo', 'clippy', '--locked', '--all-targets', '--', '-D', 'warnings'], count: one },
  { title: 'rustfmt', command: ['cargo', 'fmt', '--check'], count: one },
  ...gates.map(gate => ({ title: gate, command: ['npm', 'run', '--silent', gate], count: one })),
]

async function main() {
  const deadline = performance.now() + LIMIT
  mkdirSync(join(root, '.cache'), { recursive: true })
  rmSync(REPORT, { force: true })
  const total = { passed: 0, failed: 0 }
  const failures = /** @type {string[]} */ ([])
  const setup = await run('setup', ['node', 'scripts/setup.mjs'], { deadline })
  if (!setup.passed) Object.assign(total, { failed: 1 })
  // Without the dependencies and the addon everything else would fail for the same reason.
  for (const { title, command, count } of setup.passed ? steps : []) {
    const ending = await run(title, command, { deadline: Math.min(deadline, performance.now() + STEP_LIMIT) })
    const { passed, failed } = count(ending)
    total.passed += passed
    total.failed += failed
    if (failed > 0) failures.push(title)
  }
  if (failures.length > 0) console.log(`\nfailed: ${failures.join(', ')}`)
  process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1
  console.log(`\n${total.passed} passed, ${total.failed} failed`)
}

if (isMain(import.meta.url)) await main()
