/**
 * `npm run demo:dsh`: plays the same scripts against the real command line, once with
 * the published package and once with the native one, and compares all that a model,
 * a terminal and the session store received.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Install, installNative, installPublished } from './install.ts'
import { comparePackages, type Result, selfCheck } from './play.ts'
import type { Script } from './script-types.ts'
import { ScriptedModel } from './scripted-model.ts'
import { scripts } from './scripts/index.ts'
import type { Stage } from './stage.ts'

const repository = join(import.meta.dirname, '..', '..')

const usage = `npm run demo:dsh -- [--artifacts <directory>] [--self-check] [script...]

  --artifacts   where the packed tarballs are; artifacts/ when absent
  --self-check  check the comparison itself, with the published package alone

scripts: ${scripts.map(({ name }) => name).join(', ')}`

/**
 * Run the demonstration.
 * @param args - command-line arguments.
 * @returns the exit code of the process.
 */
export async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { artifacts: { type: 'string' }, 'self-check': { type: 'boolean' }, help: { type: 'boolean' } },
  })
  const isUnknown = (name: string): boolean => !scripts.some((script) => script.name === name)
  if (values.help === true || positionals.some(isUnknown)) {
    console.error(usage)
    return values.help === true ? 0 : 1
  }
  const chosen = scripts.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  const published = announce('published', installPublished)
  if (values['self-check'] === true) {
    return concludeSelfCheck(await playAll(chosen, (script, stage) => selfCheck(script, published, stage)))
  }
  const native = announce('native', () => installNative(values.artifacts ?? join(repository, 'artifacts')))
  return conclude(await playAll(chosen, (script, stage) => comparePackages(script, published, native, stage)))
}

function announce(label: string, make: () => Install): Install {
  const start = performance.now()
  const install = make()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  const how = install.isFresh ? `installed in ${seconds} s` : 'install reused'
  console.log(`${label.padEnd(9)} dsh with dsh-agent-instructions ${install.version}, ${how}`)
  return install
}

/** Play the scripts on a few workers and print each report in the scripts' order. */
async function playAll(chosen: Script[], play: (script: Script, stage: Stage) => Promise<Result>): Promise<Result[]> {
  // The real path: a child reports its working directory without links.
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'demo-dsh-')))
  const differences = join(repository, '.cache', 'dsh', 'differences')
  rmSync(differences, { recursive: true, force: true })
  const results: Result[] = []
  let [started, printed] = [0, 0]
  const work = async (): Promise<void> => {
    const model = new ScriptedModel()
    const baseUrl = await model.listen()
    try {
      for (let index = started++; index < chosen.length; index = started++) {
        const script = chosen[index] as Script
        const world = join(directory, script.name)
        mkdirSync(world)
        results[index] = await play(script, { model, baseUrl, directory: world, differences })
        for (; results[printed] !== undefined; printed += 1) console.log(`\n${results[printed]?.report}`)
      }
    } finally {
      model.close()
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(availableParallelism(), 4) }, work))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  return results
}

function conclude(results: Result[]): number {
  const identical = results.filter((result) => result.isIdentical).length
  const unsound = results.filter((result) => !result.isSound).length
  if (unsound > 0) console.log(`\n${unsound} of the runs did not go as scripted`)
  const wasInstructed = results.some((result) => result.wasInstructed)
  if (!wasInstructed) console.log('\nthe model never received workspace instructions: this proves nothing')
  console.log(`\n${results.length} runs, ${identical} identical`)
  return identical === results.length && unsound === 0 && wasInstructed ? 0 : 1
}

function concludeSelfCheck(results: Result[]): number {
  const sound = results.filter((result) => result.isSound).length
  console.log(`\nself-check: ${results.length} runs, ${sound} as they should be`)
  return results.length > 0 && sound === results.length ? 0 : 1
}
