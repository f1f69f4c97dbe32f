/** Plays one script with one install, and writes down all that can be observed. */
import { spawn } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { Install } from './install.ts'
import type { Script, ScriptRun } from './script-types.ts'
import type { ReceivedRequest } from './scripted-model.ts'
import { instructionMessages } from './seen.ts'
import type { Stage } from './stage.ts'
import { createWorld, type World } from './world.ts'
import { settleLog } from './settle-log.ts'

/** One observed text, with a title for the person who reads a difference. */
export interface Piece {
  title: string
  text: string
}

/** Everything that one script showed with one install. */
export interface Transcript {
  pieces: Piece[]
  requests: number
  /** Workspace-instruction messages in their short form. */
  seen: string[]
  /** What went otherwise than the script says. */
  problems: string[]
  /** A native binary of the package was mapped into the process, where that can be told. */
  isNative: boolean | undefined
}

interface Outcome {
  /** The exit code, or the signal that ended the process. */
  ending: number | string
  stdout: string
  stderr: string
}

const timeoutMilliseconds = 120_000
const turnsRunner = join(import.meta.dirname, 'profile', 'turns-runner.mjs')

/**
 * Play a script from a clean start.
 * @param script - what to play.
 * @param install - the command line to play it with.
 * @param stage - where to play.
 * @param config - overrides every run's plugin configuration; for the self-check.
 * @returns all that was observed.
 */
export async function playScript(
  script: Script,
  install: Install,
  stage: Stage,
  config?: Record<string, unknown>,
): Promise<Transcript> {
  const world = createWorld(stage.directory, script.usesDefaultHome === true)
  world.osHome.reset({})
  world.home.reset(script.home ?? {})
  world.project.reset(script.project)
  const transcript: Transcript = { pieces: [], requests: 0, seen: [], problems: [], isNative: undefined }
  const all: ReceivedRequest[] = []
  let session = 'session-demo'
  for (const [index, run] of script.runs.entries()) {
    run.before?.(world)
    writeProfile(config === undefined ? run : { ...run, config }, world, session)
    stage.model.play(run.replies(world))
    const { outcome, isNative } = await runCommand(script, run, install, stage, world)
    const { received, problems } = stage.model.result()
    if (run.isResume !== true) session = received[0]?.session ?? session
    if (isNative !== undefined) transcript.isNative = (transcript.isNative ?? true) && isNative
    const name = `run ${index + 1}`
    for (const [position, request] of received.entries()) {
      transcript.pieces.push({ title: `${name}, request ${position + 1} (${request.kind})`, text: request.body })
    }
    transcript.pieces.push(
      { title: `${name}, standard output`, text: outcome.stdout },
      { title: `${name}, standard error`, text: outcome.stderr },
      { title: `${name}, exit code`, text: String(outcome.ending) },
    )
    all.push(...received)
    const expected = run.exitCode ?? 0
    if (outcome.ending !== expected) {
      transcript.problems.push(`${name} ended with ${outcome.ending} instead of ${expected}: ${outcome.stderr.trim()}`)
    }
    transcript.problems.push(...problems.map((problem) => `${name}: ${problem}`))
  }
  transcript.requests = all.length
  transcript.seen = instructionMessages(all)
  if (transcript.seen.join('\n') !== script.sees.join('\n')) {
    transcript.problems.push(`the model was told [${transcript.seen.join(' | ')}], the script says [${script.sees.join(' | ')}]`)
  }
  transcript.pieces.push(...readSessionLogs(world, all))
  return transcript
}

/** Write the home's patch list, and the turns runner where the run needs it. */
function writeProfile(run: ScriptRun, world: World, session: string): void {
  const rows: object[] = [
    // Its request races with the conversation's first one, and titles are not the subject.
    { id: 'session-title-llm', disabled: true },
    // One event per line, uncompressed, so that the durable history can be compared too.
    {
      id: 'session-persistence-jsonl',
      config: { root: world.home.at('sessions'), packChunks: false, compression: 'none' },
    },
  ]
  if (run.config !== undefined) rows.push({ id: 'agent-instructions', config: run.config })
  if (Array.isArray(run.task) || run.isResume === true) {
    mkdirSync(world.home.at('profiles'), { recursive: true })
    copyFileSync(turnsRunner, world.home.at('profiles/turns-runner.mjs'))
    const config = { turns: [run.task].flat(), session, isResumed: run.isResume === true }
    rows.push(
      { id: 'headless-runner', disabled: true },
      { id: 'headless-startup', disabled: true },
      { insert: [{ id: 'demo-turns-runner', name: '../turns-runner.mjs', config }] },
    )
  }
  // JSON is YAML, so no YAML writer is needed.
  world.home.write('cordis.patch.yml', JSON.stringify(rows, null, 2))
}

function runCommand(
  script: Script,
  run: ScriptRun,
  install: Install,
  stage: Stage,
  world: World,
): Promise<{ outcome: Outcome; isNative: boolean | undefined }> {
  const args = [install.command, '--profile', 'headless']
  if (typeof run.task === 'string' && run.isResume !== true) args.push(run.task)
  const child = spawn(process.execPath, args, {
    cwd: world.project.at(script.cwd ?? '.'),
    // A closed list: a variable of the person's shell could change what a model sees.
    env: {
      PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
      HOME: world.osHome.path,
      USERPROFILE: world.osHome.path,
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      DEEPSEEK_BASE_URL: stage.baseUrl,
      DEEPSEEK_API_KEY: 'scripted',
      ...(script.usesDefaultHome === true ? {} : { DSH_HOME: world.home.path }),
      ...script.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMilliseconds,
    killSignal: 'SIGKILL',
  })
  let isNative: boolean | undefined
  stage.model.onRequest = () => {
    isNative ??= mapsNativeBinary(child.pid)
  }
  const outcome: Outcome = { ending: '', stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (outcome.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (outcome.stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      resolve({ outcome: { ...outcome, ending: code ?? String(signal) }, isNative })
    })
  })
}

/** Look for the package's binary among the child's mapped files; only Linux can tell. */
function mapsNativeBinary(pid: number | undefined): boolean | undefined {
  if (process.platform !== 'linux' || pid === undefined) return undefined
  try {
    return /dsh-agent-instructions[^\n]*\.node$/m.test(readFileSync(`/proc/${pid}/maps`, 'utf8'))
  } catch {
    // The process is gone already; its exit code says more.
    return undefined
  }
}

/** Read the durable histories, in the order in which the model met their sessions. */
function readSessionLogs(world: World, received: ReceivedRequest[]): Piece[] {
  const root = world.home.at('sessions')
  const sessions = [...new Set(received.map((request) => request.session))]
  return sessions.flatMap((session, index) =>
    globSync(`*/${session}/session.jsonl`, { cwd: root }).map((file) => ({
      title: `session log ${index + 1}`,
      text: settleLog(readFileSync(join(realpathSync(root), file), 'utf8')),
    })),
  )
}
