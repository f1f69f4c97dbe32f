/** A host over a tree with an instruction file at every kind of place, and a provider that can go wrong. */
import { createHash } from 'node:crypto'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import { symbols } from '@deepseek-ai/cordis'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import { expect } from 'vitest'
import type { Word } from './fault-table.ts'
import { Faults, faultyFs } from './faulty-fs.ts'
import { Host, settle } from './host.ts'
import type { InstructionsPlugin, ScriptedAgent } from './host.ts'
import { World } from './memory-fs.ts'

/** Options of the plugin. */
export const CONFIG = { maxBytes: 65_536, maxSourceBytes: 4_096, dshHome: '/home/.dsh' }

/** What a fault can befall. */
export const POSITIONS = {
  'root marker': { path: '/w/p/.git', display: '', scope: '' },
  'user-global': { path: '/home/.dsh/AGENTS.md', display: '$DSH_HOME/AGENTS.md', scope: 'user-global\0AGENTS.md' },
  'root candidate': { path: '/w/p/AGENTS.md', display: 'AGENTS.md', scope: '.\0AGENTS.md' },
  'overlay': { path: '/w/p/AGENTS.local.md', display: 'AGENTS.local.md', scope: '.\0AGENTS.local.md' },
  'nested candidate': { path: '/w/p/a/AGENTS.md', display: 'a/AGENTS.md', scope: 'a\0AGENTS.md' },
} as const
export type PositionName = keyof typeof POSITIONS

/** A host over a tree with one file at each position; one session after another. */
export class Stage {
  readonly world = new World()
  readonly faults = new Faults()
  readonly warnings: string[] = []
  readonly host: Host
  agent!: ScriptedAgent
  private edits = 0

  private constructor(plugin: unknown) {
    this.host = new Host(plugin as InstructionsPlugin, faultyFs(this.world, [], this.faults))
  }

  static async open(plugin: unknown = ours): Promise<Stage> {
    const stage = new Stage(plugin)
    stage.host.ctx.logger.exporter({ levels: { default: 2 }, export: ({ args }) => { stage.warnings.push(args.join(' ')) } })
    await stage.host.start(CONFIG)
    stage.begin()
    return stage
  }

  /** A new session over a whole tree. */
  begin(cwd = '/w/p'): void {
    this.faults.heal()
    this.world.nodes.clear()
    this.world.chunkSize = 16
    this.world.directory('/w/p/.git')
    this.edits = 0
    for (const name of Object.keys(POSITIONS)) this.edit(name as PositionName)
    this.warnings.length = 0
    this.agent = this.host.agent(cwd)
  }

  edit(name: PositionName): void {
    const { path, scope } = POSITIONS[name]
    if (scope !== '') this.world.file(path, `The instructions of ${name}, edition ${++this.edits}, in a few chunks.\n`)
  }

  /** What the model ought to know, by scope. */
  truth(without = ''): Record<string, string> {
    const entries = Object.values(POSITIONS).flatMap(({ path, scope }) => {
      const node = this.world.nodes.get(path)
      return node?.kind === 'file' && scope !== without ? [[scope, createHash('sha1').update(node.content).digest('hex')]] : []
    })
    return Object.fromEntries(entries) as Record<string, string>
  }

  /** What it knows, by scope. */
  known(): Record<string, string> {
    const known: Record<string, string> = {}
    for (const { source } of this.agent.session.deriveMessages() as UserMessage[]) {
      if (source?.kind !== 'agent-instructions') continue
      for (const { action, scope, digest } of source.changes) {
        if (action === 'remove') delete known[scope]
        else known[scope] = digest as string
      }
    }
    return known
  }

  /** Go on in a new session that has the old one's log. */
  resume(): void {
    const { session, turn } = this.agent
    this.agent = this.host.agent('/w/p', session.events)
    this.agent.turn = turn
  }

  /** Mount the plugin anew: nothing is remembered of the provider. */
  async remount(): Promise<void> {
    await this.host.unmount()
    await this.host.mount(CONFIG)
  }

  /** Give the provider itself another property. */
  spoil(name: string, property: PropertyDescriptor): void {
    const fs = this.host.ctx.get('fs') as unknown as Record<symbol, object>
    Object.defineProperty(fs[symbols.original] ?? fs, name, { configurable: true, ...property })
  }

  touch(): void {
    this.agent.toolResult({ name: 'read', arguments: { file_path: '/w/p/a/f.txt' } })
  }

  /** One turn of one step; `never`: where it meets the fault it is to wait, and to give up when its signal says so. */
  async step(word: Word = 'honest'): Promise<void> {
    this.agent.prompt('go on')
    const controller = new AbortController()
    const decision = this.agent.preStep({ signal: controller.signal })
    let ended = 'not yet'
    decision.then(() => { ended = 'entered' }, error => { ended = String(error) })
    // In memory everything comes to rest within a few turns of the event loop.
    for (let turns = 0; ended === 'not yet' && turns < (word === 'never' ? 8 : 500); turns++) await settle(1)
    if (word === 'never' && this.faults.struck > 0) {
      expect(ended).toBe('not yet')
      controller.abort(new Error('enough'))
      await settle(2)
      expect(ended).toBe('Error: enough')
      this.agent.endTurn()
    } else {
      expect(ended).toBe('entered')
      this.agent.enter(await decision)
      this.agent.endStep()
    }
  }

  /** Touch, and let what that sets in motion come as far as it can. */
  async touched(word: Word = 'honest'): Promise<void> {
    this.touch()
    await settle(4)
    await this.step(word)
  }
}
