/**
 * A real temporary directory under two real hosts: one mounts the published package,
 * the other ours, both over dsh-fs-local. A script changes the disk and drives both
 * sessions in lockstep; after every action all that a host, a model or a log reader
 * could see is compared, and so are the load functions over the same directory.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect, it, vi } from 'vitest'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import { LocalFileSystem } from '@deepseek-ai/dsh-fs-local'
import type { PreStepDecision } from '@deepseek-ai/dsh-agent'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import * as published from 'published-agent-instructions'
import { Host } from '../support/host.ts'
import type { InstructionsPlugin, ScriptedAgent, ToolCall } from '../support/host.ts'

type Decide = (claimed: UserMessage[]) => PreStepDecision | Promise<PreStepDecision>
type Package = typeof published & typeof ours

/** How the provider departs from plain dsh-fs-local; shared by both sides. */
export interface Faults {
  /** Called before `op` on an absolute path, on either side; what it throws is thrown. */
  before?: (op: 'resolve' | 'stat' | 'lstat' | 'open' | 'chunk' | 'close', path: string) => void
  /** Code units of one streamed chunk; whatever dsh-fs-local yields unless given. */
  chunkSize?: number
}

/** Provider operations that have begun and not ended, and how many have begun. */
interface Activity {
  running: number
  begun: number
}

/** dsh-fs-local, watched so that a test can tell when a plugin has come to rest, and breakable. */
function watchedFs(activity: Activity, faults: Faults) {
  async function watch<T>(operation: () => Promise<T>): Promise<T> {
    activity.begun++
    activity.running++
    try {
      return await operation()
    } finally {
      activity.running--
    }
  }
  return class WatchedFs extends LocalFileSystem {
    override resolve(...[path, options]: Parameters<LocalFileSystem['resolve']>) {
      return watch(async () => {
        faults.before?.('resolve', path)
        return await super.resolve(path, options)
      })
    }

    override stat(...[target, signal]: Parameters<LocalFileSystem['stat']>) {
      return watch(async () => {
        faults.before?.('stat', target.displayPath)
        return await super.stat(target, signal)
      })
    }

    override lstat(...[path, options, signal]: Parameters<LocalFileSystem['lstat']>) {
      return watch(async () => {
        faults.before?.('lstat', path)
        return await super.lstat(path, options, signal)
      })
    }

    override streamText(target: FsTarget, signal?: AbortSignal): Promise<AsyncIterable<string>> {
      return watch(async () => {
        faults.before?.('open', target.displayPath)
        return chunks(await super.streamText(target, signal), target.displayPath)
      })
    }
  }

  async function * chunks(stream: AsyncIterable<string>, path: string): AsyncIterable<string> {
    activity.running++
    try {
      for await (const text of stream) {
        const size = faults.chunkSize ?? (text.length || 1)
        for (let at = 0; at < text.length; at += size) {
          faults.before?.('chunk', path)
          yield text.slice(at, at + size)
        }
      }
      faults.before?.('close', path)
    } finally {
      activity.running--
    }
  }
}

/** One of the two hosts. */
class Side {
  readonly package: Package
  readonly host: Host
  readonly warnings: string[] = []
  agent!: ScriptedAgent
  private readonly activity: Activity = { running: 0, begun: 0 }
  private readonly ids = new Map<string, string>()
  private mark = 0

  constructor(instructions: unknown, cwd: string, faults: Faults, noProvider: boolean) {
    this.package = instructions as Package
    this.host = new Host(instructions as InstructionsPlugin, noProvider ? undefined : watchedFs(this.activity, faults), { cwd })
    this.host.ctx.logger.exporter({
      levels: { default: 2 },
      export: ({ name, args }) => {
        // Ours also tells its operator what could not be loaded in full.
        if (!String(args[0]).startsWith('instruction files not loaded')) this.warnings.push(`${name}: ${args.join(' ')}`)
      },
    })
  }

  open(cwd: string | undefined, seed?: ScriptedAgent): void {
    seed?.endStep()
    this.agent = this.host.agent(cwd, seed?.session.events)
    if (seed !== undefined) this.agent.turn = seed.turn
    this.mark = this.agent.session.seq
  }

  /** Wait until nothing has gone on for a while. A stream that is never closed keeps this from happening. */
  async settle(): Promise<void> {
    const deadline = performance.now() + 10_000
    for (let quiet = 0, seen = -1; quiet < 12; quiet = this.activity.running === 0 && seen === this.activity.begun ? quiet + 1 : 0) {
      if (performance.now() > deadline) throw new Error(`the plugin did not come to rest: ${this.activity.running} operations are open`)
      seen = this.activity.begun
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  /** Everything that can be seen now; `splices` of the inbox are left out where touches may coalesce. */
  observe(result: unknown, splices: boolean): object {
    const { session, agent } = this.agent
    const events = session.events.slice(this.mark).filter(event => splices || event.type !== 'agent/inbox/spliced')
    this.mark = session.seq
    return this.clean({
      result,
      events: events.map(({ type, data }) => ({ type, data })),
      inbox: { step: agent.inbox.nextStep, turn: agent.inbox.nextTurn },
      surface: session.deriveMessages(),
      warnings: this.warnings.splice(0),
    }) as object
  }

  /** A copy in which message identities are numbered by first appearance. */
  private clean(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
      if (key !== 'id' || typeof inner !== 'string') return inner
      if (!this.ids.has(inner)) this.ids.set(inner, `#${this.ids.size}`)
      return this.ids.get(inner)
    })
  }
}

/** What an operation came to, for comparison: its value, or its error's name and message. */
export async function outcome(operation: () => unknown): Promise<unknown> {
  try {
    return { value: await operation() }
  } catch (error) {
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }
  }
}

/** Values are equal, and so are their texts: the durable log keeps key order. */
export function expectSame(mine: unknown, theirs: unknown, what: string): void {
  expect(mine, what).toEqual(theirs)
  expect(JSON.stringify(mine), what).toBe(JSON.stringify(theirs))
}

/** Configuration and surroundings of one stage. */
export interface StageOptions {
  config?: Record<string, unknown>
  /** Session's working directory, relative to the project. */
  cwd?: string
  /** Leave the hosts without an `fs` service. */
  noProvider?: boolean
  /** Harness home: relative to the root, or as it stands if it begins with `~`; null leaves it unset. */
  home?: string | null
  /** Environment variables for the time of the script, each a path relative to the root. */
  env?: Record<string, string>
  faults?: Faults
}

/** The directory, the two hosts over it, and what they were seen to do. */
export class Stage {
  /** Instruction texts of the last action: entered by a step, or pending after a touch. */
  told = ''
  /** A temporary directory; `project` stands in it, and `home` as soon as a script writes there. */
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'instructions-')))
  readonly project = join(this.root, 'project')
  readonly faults: Faults
  private readonly noProvider: boolean
  private config: Record<string, unknown>
  private cwd: string
  /** Runs before each side's turn, for a tree that a turn itself changes. */
  beforeSide?: () => void
  private clock = 1_000_000_000
  /** Whether the load functions have been compared over what is there now. */
  private loaded = false
  private sides: Side[] = []
  private acts = 0
  /** Touches that wait for a step or an outer call to end; several projected at once may share one inbox splice. */
  private waiting = 0

  constructor(options: StageOptions) {
    const { home = 'home', env = {} } = options
    this.faults = options.faults ?? {}
    this.noProvider = options.noProvider ?? false
    for (const [name, path] of Object.entries(env)) vi.stubEnv(name, join(this.root, path))
    const dshHome = home?.startsWith('~') ? home : home === null ? undefined : join(this.root, home)
    this.config = { ...dshHome === undefined ? {} : { dshHome }, maxBytes: 65_536, ...options.config }
    this.cwd = resolve(this.project, options.cwd ?? '.')
    mkdirSync(join(this.project, '.git'), { recursive: true })
    mkdirSync(this.cwd, { recursive: true })
    // Another user may have to look into it.
    chmodSync(this.root, 0o755)
  }

  // ---- the disk; paths are relative to the project

  at(path: string): string {
    this.loaded = false
    return resolve(this.project, path)
  }

  /** Put a file at a path, in place of whatever is there, with a time of change that none had before. */
  write(path: string, content: string | Uint8Array): void {
    this.remove(path)
    mkdirSync(dirname(this.at(path)), { recursive: true })
    writeFileSync(this.at(path), content)
    utimesSync(this.at(path), ++this.clock, this.clock)
  }

  directory(path: string): void {
    this.remove(path)
    mkdirSync(this.at(path), { recursive: true })
  }

  link(path: string, to: string): void {
    this.remove(path)
    mkdirSync(dirname(this.at(path)), { recursive: true })
    symlinkSync(to, this.at(path))
  }

  fifo(path: string): void {
    this.remove(path)
    mkdirSync(dirname(this.at(path)), { recursive: true })
    execFileSync('mkfifo', [this.at(path)])
  }

  rename(from: string, to: string): void {
    mkdirSync(dirname(this.at(to)), { recursive: true })
    renameSync(this.at(from), this.at(to))
  }

  remove(path: string): void {
    rmSync(this.at(path), { recursive: true, force: true })
  }

  // ---- the two sessions

  /** A whole turn of one step: prompt, pre-step, entered messages, both boundaries. */
  async turn(decide?: Decide): Promise<void> {
    await this.step(decide)
    await this.end()
  }

  /** Prompt if no turn is open, run the pre-step, and leave the step open. `signal` is asked for one signal per side. */
  async step(decide?: Decide, signal?: () => AbortSignal): Promise<void> {
    await this.both('step', async ({ agent }) => {
      if (agent.stepOpen) agent.endStep(true)
      if (!agent.turnOpen) agent.prompt('work')
      const options = { ...decide === undefined ? {} : { decide }, ...signal === undefined ? {} : { signal: signal() } }
      try {
        const decision = await agent.preStep(options)
        agent.enter(decision)
        return decision
      } catch (error) {
        agent.endTurn()
        throw error
      }
    })
  }

  /** Close the open step, and its turn unless told to keep it. */
  async end(keepTurn = false): Promise<void> {
    const told = this.told
    await this.both('end of step', ({ agent }) => agent.endStep(keepTurn), this.waiting <= 1)
    this.waiting = 0
    // What a step's end releases stands in the inbox; without that, the step's own messages stay to be looked at.
    if (this.told === '') this.told = told
  }

  /** Successful `read`s, all before anything could settle. */
  async touch(...paths: string[]): Promise<void> {
    await this.call(...paths.map(path => ({ name: 'read', arguments: { file_path: path } })))
  }

  async call(...calls: ToolCall[]): Promise<void> {
    this.waiting += calls.filter(({ name }) => name !== 'run_code').length
    await this.both('calls', ({ agent }) => {
      for (const call of calls) agent.toolResult(call)
    }, this.waiting <= 1)
    if (!this.sides[0]?.agent.stepOpen && calls.some(({ parent }) => parent === undefined)) this.waiting = 0
  }

  async resume(): Promise<void> {
    await this.both('resume', side => side.open(this.cwd, side.agent))
  }

  /** Open another session; without a directory of its own it works in the process's. */
  async session(cwd?: string): Promise<void> {
    this.cwd = cwd === undefined ? process.cwd() : this.at(cwd)
    await this.both('new session', side => side.open(cwd === undefined ? undefined : this.cwd))
  }

  async remount(config: Record<string, unknown> = {}): Promise<void> {
    this.config = { ...this.config, ...config }
    this.loaded = false
    await this.both('remount', async ({ host }) => {
      await host.unmount()
      await host.mount(this.config)
    })
  }

  async compact(first: number, last: number): Promise<void> {
    await this.both('compaction', ({ agent }) => agent.compact(first, last))
  }

  private async both(what: string, act: (side: Side) => unknown, splices = true): Promise<void> {
    const label = `action ${++this.acts}, ${what}`
    const seen: object[] = []
    for (const side of this.sides) {
      this.beforeSide?.()
      const result = await outcome(() => act(side))
      await side.settle()
      seen.push(side.observe(result, splices))
    }
    expectSame(seen[1], seen[0], label)
    this.told = instructionTexts(seen[0] as never)
    await this.load(label)
  }

  /** The load functions: without a provider, and with the host's. */
  private async load(label: string): Promise<void> {
    if (this.loaded) return
    this.loaded = true
    const options = { ...this.config, cwd: this.cwd } as Parameters<typeof published.loadBaselineInstructions>[0]
    const seen = []
    for (const side of this.sides) {
      const { loadBaselineInstructions, discoverBaselineInstructionFiles } = side.package
      this.beforeSide?.()
      seen.push({
        discovered: await outcome(() => discoverBaselineInstructionFiles(options)),
        loaded: await outcome(() => loadBaselineInstructions(options)),
        replacing: await outcome(() => loadBaselineInstructions({ ...options, replacePreviousBaseline: true })),
        provided: await outcome(() => loadBaselineInstructions(options, side.host.ctx.get('fs'))),
      })
    }
    expectSame(seen[1], seen[0], `${label}, load functions`)
  }

  /** The `fs` service of the published package's host (0) or of ours (1). */
  provider(side: number): never {
    return this.sides[side]?.host.ctx.get('fs') as never
  }

  async start(): Promise<void> {
    this.sides = [published, ours].map(instructions => new Side(instructions, this.project, this.faults, this.noProvider))
    for (const side of this.sides) {
      await side.host.start(this.config)
      side.open(this.cwd)
    }
  }

  async close(): Promise<void> {
    for (const side of this.sides) await side.host.stop()
    rmSync(this.root, { recursive: true, force: true })
  }
}

interface Seen {
  result: { value?: { messages?: UserMessage[] } }
  inbox: { step: UserMessage[], turn: UserMessage[] }
}

function instructionTexts({ result, inbox }: Seen): string {
  return [...result.value?.messages ?? [], ...inbox.step, ...inbox.turn]
    .filter(message => message.source.kind === 'agent-instructions')
    .flatMap(message => message.content.map(block => block.type === 'text' ? block.text : ''))
    .join('\n')
}

/** What a test does on a stage; it starts the hosts itself, once the first files are there. */
export type Script = (stage: Stage) => Promise<void>

/**
 * Set a stage, play a script on it, and clear up.
 * @param options - configuration and surroundings.
 * @param script - what to play.
 */
export async function onStage(options: StageOptions, script: Script): Promise<void> {
  const stage = new Stage(options)
  try {
    await script(stage)
  } finally {
    await stage.close()
    vi.unstubAllEnvs()
  }
}

/** A test that plays a script. */
export function play(name: string, options: StageOptions, script: Script): void {
  it(name, { timeout: 60_000 }, () => onStage(options, script))
}

/** Start the hosts and play a first turn. */
export async function begin(stage: Stage): Promise<void> {
  await stage.start()
  await stage.turn()
}

/** Play a touch and a turn after each change of the disk; then resume, compact, and remount under a small budget. */
export async function everyWay(stage: Stage, ...changes: (() => void)[]): Promise<void> {
  await begin(stage)
  for (const change of changes) {
    change()
    await stage.touch('file.txt')
    await stage.turn()
  }
  await stage.resume()
  await stage.turn()
  await stage.compact(0, 99)
  await stage.turn()
  await stage.remount({ maxBytes: 1_000 })
  await stage.turn()
}
