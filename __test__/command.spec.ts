/**
 * `/instructions` in a host with the real command registry: what a person reads, and that no model does.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import CommandRuntime from '@deepseek-ai/dsh-commands'
import type { CommandResult } from '@deepseek-ai/dsh-commands'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import { Host, settle } from './support/host.ts'
import type { InstructionsPlugin, ScriptedAgent } from './support/host.ts'
import { World, memoryFs } from './support/memory-fs.ts'

const CONFIG = { maxBytes: 2000, maxSourceBytes: 5000, dshHome: '/home/.dsh' }

const hosts: Host[] = []
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.stop()
})

class Stage {
  readonly world = new World()
  readonly warnings: string[] = []
  readonly host: Host
  agent!: ScriptedAgent

  constructor(hasFiles = true) {
    this.host = new Host(ours as unknown as InstructionsPlugin, hasFiles ? memoryFs(this.world, []) : undefined)
    hosts.push(this.host)
    this.host.ctx.logger.exporter({ levels: { default: 2 }, export: ({ args }) => { this.warnings.push(args.join(' ')) } })
    this.world.directory('/w/p/.git')
    this.world.file('/w/p/AGENTS.md', 'root')
    this.world.file('/w/p/CLAUDE.md', 'root\n')
    this.world.file('/w/p/a/AGENTS.md', 'x'.repeat(3000))
    this.world.file('/w/p/a/b/AGENTS.md', 'nested')
  }

  async start(commands = true): Promise<this> {
    await this.host.start(CONFIG)
    if (commands) await this.host.ctx.plugin(CommandRuntime as never, {} as never)
    await settle()
    this.agent = this.host.agent('/w/p/a')
    return this
  }

  get commands(): CommandRuntime {
    return (this.host.ctx as unknown as { get(name: string): CommandRuntime }).get('commands')
  }

  async execute(line: string, signal = new AbortController().signal): Promise<CommandResult | undefined> {
    return (await this.commands.execute(this.agent.agent, line, [], signal))?.result
  }

  text(line: string): Promise<string> {
    return this.execute(line).then(result => {
      if (result?.kind !== 'success') throw new Error(`${line}: ${result?.text}`)
      return result.text as string
    })
  }
}

describe('/instructions', () => {
  it('is offered with what it takes', async () => {
    const { commands, agent } = await new Stage().start()
    expect(commands.list(agent.agent)).toEqual([{
      name: 'instructions',
      description: 'Show which instruction files apply here, and why others do not',
      input: { hint: '[file: also what touching it would load]' },
    }])
  })

  it('explains the session\'s directory under the plugin\'s options and over its provider', async () => {
    expect((await (await new Stage().start()).text('/instructions')).split('\n')).toEqual([
      'Instruction files for work in /w/p/a (project root /w/p):',
      '- omitted: AGENTS.md, 4 bytes (no room in the budget)',
      '- duplicate: CLAUDE.md, 5 bytes (same text as AGENTS.md beside it)',
      expect.stringMatching(/^- truncated: a\/AGENTS\.md, 3,000 bytes \(cut from 3,000 to 1,\d{3} bytes\)$/),
      '3 files: 1 truncated, 1 omitted, 1 duplicate; 6 absent.',
      'The message for this directory takes 2,000 of 2,000 bytes, 100.0%.',
    ])
  })

  it('explains a touched file too: whatever stands behind the name, trimmed', async () => {
    const stage = await new Stage().start()
    stage.world.file('/w/p/a/my dir/AGENTS.md', 'spaced')
    expect(await stage.text('/instructions  b/x.ts ')).toContain('\nTouching b/x.ts adds:\n- loaded: a/b/AGENTS.md, 6 bytes\n')
    expect(await stage.text('/instructions my dir/x')).toContain('\nTouching my dir/x adds:\n- loaded: a/my dir/AGENTS.md, 6 bytes\n')
    expect(await stage.text('/instructions x.ts')).toContain('\nTouching x.ts adds nothing.\n')
    expect(await stage.text('/instructions b/x.ts')).toMatch(/The message for the touched file takes \d+ of 2,000 bytes/)
  })

  it('is not for the model: neither the surface nor the inbox holds a word of it', async () => {
    const stage = await new Stage().start()
    const { session, agent } = stage.agent
    await stage.execute('/instructions b/x.ts')
    await settle()
    expect([...session.surface.nodes]).toEqual([])
    expect([...agent.inbox.nextStep, ...agent.inbox.nextTurn]).toEqual([])
    stage.agent.prompt('go on')
    const entered = stage.agent.enter(await stage.agent.preStep())
    const texts = JSON.stringify(entered.map(message => message.content))
    expect(texts).not.toContain('Instruction files for work in')
    // What was only asked about is not taken for a touch.
    expect(texts).not.toContain('nested')
  })

  it('answers an error with an error, and goes on', async () => {
    const stage = await new Stage().start()
    const broken = { ...stage.agent.agent, session: { ...stage.agent.session, header: { cwd: 5 }, append: () => ({}) } } as unknown as Agent
    const definition = stage.commands.find(stage.agent.agent, 'instructions')
    const invocation = { agent: broken, rawInput: '', signal: new AbortController().signal }
    expect(await definition?.handler(invocation as never)).toEqual({ kind: 'error', text: expect.stringMatching(/^The instructions could not be inspected: /) })
    const aborted = { agent: stage.agent.agent, rawInput: '', signal: AbortSignal.abort(new Error('enough')) }
    expect(await definition?.handler(aborted as never)).toEqual({ kind: 'error', text: 'The instructions could not be inspected: enough' })
    stage.world.faults.set('resolve:/w/p/a/AGENTS.md', 0)
    expect(await stage.text('/instructions')).toContain('- unavailable: a/AGENTS.md (fault: resolve /w/p/a/AGENTS.md)')
  })

  it('says so where no file system is mounted', async () => {
    expect(await (await new Stage(false).start()).execute('/instructions')).toEqual({
      kind: 'error',
      text: 'The host has no file system mounted: no instructions are loaded.',
    })
  })

  it('comes and goes with the plugin, and with the registry', async () => {
    const stage = await new Stage().start(false)
    expect(stage.commands).toBeUndefined()
    const registry = await stage.host.ctx.plugin(CommandRuntime as never, {} as never) as unknown as { dispose(): Promise<void> }
    await settle()
    expect(stage.commands.find(stage.agent.agent, 'instructions')).toBeDefined()
    await stage.host.unmount()
    expect(stage.commands.find(stage.agent.agent, 'instructions')).toBeUndefined()
    await stage.host.mount(CONFIG)
    await settle()
    expect(stage.commands.find(stage.agent.agent, 'instructions')).toBeDefined()
    await registry.dispose()
    stage.agent.prompt('go on')
    expect((await stage.agent.preStep()).kind).toBe('enter')
  })

  it('leaves a command of the same name alone, and loading works all the same', async () => {
    const stage = new Stage()
    await stage.host.ctx.plugin(CommandRuntime as never, {} as never)
    stage.host.ctx.inject(['commands'], ctx => {
      (ctx as unknown as { commands: CommandRuntime }).commands.register({ name: 'instructions', description: 'theirs', handler: () => ({ kind: 'success', text: 'theirs' }) })
    })
    await stage.start(false)
    expect(await stage.text('/instructions')).toBe('theirs')
    expect(stage.warnings).toEqual([expect.stringContaining('/instructions is not available: ')])
    stage.agent.prompt('go on')
    const { messages } = await stage.agent.preStep() as { messages: { source: { kind: string } }[] }
    expect(messages.map(message => message.source.kind)).toContain('agent-instructions')
  })
})
