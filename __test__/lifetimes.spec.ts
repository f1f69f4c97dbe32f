/**
 * The addon shares its host's process: it ends with it and not before, survives the end of
 * its threads and of its mounts, and leaves nothing behind. What could take a process with
 * it runs in one of its own (lifetimes/).
 */
import { execFile } from 'node:child_process'
import type { ExecFileException } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import { describe, expect, it } from 'vitest'
import type { Growth } from './lifetimes/soak.ts'
import { OPTIONS, Rig, rehearse, step, touch } from './lifetimes/rig.ts'
import { settle } from './support/host.ts'

interface Ending {
  code: number | string | null | undefined
  signal: NodeJS.Signals | undefined
  last: string
  stderr: string
}

/** Run a script of lifetimes/ to its end; one that does not end is killed, which its signal tells. */
function run(script: string, args: readonly string[] = [], flags: readonly string[] = [], patience = 60_000): Promise<Ending> {
  const path = fileURLToPath(new URL(`lifetimes/${script}`, import.meta.url))
  return new Promise(resolve => {
    execFile(process.execPath, [...flags, path, ...args], { timeout: patience, killSignal: 'SIGKILL' }, (error: ExecFileException | null, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, signal: error?.signal ?? undefined, last: stdout.trimEnd().split('\n').at(-1) ?? '', stderr })
    })
  })
}

describe('a process ends by itself', () => {
  const told = 'user,agent-instructions'
  // Way, pace of the provider, last line, exit code. Where several outcomes are right, the last line is left open.
  it.each([
    ['works and disposes', 'prompt', told, 0],
    ['works and disposes', 'slow', told, 0],
    // What is on its way arrives, whether or not anybody waits for it.
    ['goes without a word', 'prompt', told, 0],
    ['goes without a word', 'slow', told, 0],
    ['goes without a word', 'never', 'nothing', 0],
    ['disposes in flight', 'prompt', undefined, 0],
    ['disposes in flight', 'slow', 'user', 0],
    ['disposes in flight', 'never', 'user', 0],
    ['disposes before the first answer', 'slow', 'user', 0],
    ['disposes before the first answer', 'never', 'user', 0],
    ['exits in flight', 'prompt', undefined, 0],
    ['exits in flight', 'slow', 'nothing', 0],
    ['exits in flight', 'never', 'nothing', 0],
    ['fails in flight', 'slow', 'nothing', 1],
    ['fails in flight', 'never', 'nothing', 1],
    ['loads from a provider', 'prompt', 'true', 0],
    ['loads from a provider', 'slow', 'true', 0],
    ['loads from a provider', 'never', 'nothing', 0],
    ['loads from the disk', 'prompt', 'loaded', 0],
    ['exits while it loads from the disk', 'prompt', 'nothing', 0],
  ] as const)('that %s, with a provider that answers: %s', async (way, pace, last, code) => {
    const ending = await run('exits.ts', [way, pace])
    expect({ ...ending, stderr: code === 0 ? ending.stderr : '' }).toEqual({ code, signal: undefined, last: last ?? ending.last, stderr: '' })
  })
})

describe('side by side', () => {
  it('two contexts, two Workers and two copies of the package', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'copy-'))
    const root = fileURLToPath(new URL('..', import.meta.url))
    try {
      for (const part of ['lib', 'package.json']) cpSync(join(root, part), join(copy, part), { recursive: true })
      symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
      const urls = [root, copy].map(top => pathToFileURL(join(top, 'lib/index.js')).href)
      expect(await run('side-by-side.ts', urls)).toEqual({ code: 0, signal: undefined, last: 'side by side', stderr: '' })
    } finally {
      rmSync(copy, { recursive: true })
    }
  })

  it('Workers that are terminated with calls in flight', async () => {
    // `npm run soak` does it 200 times.
    const { last, ...ending } = await run('terminations.ts', ['40'], [], 240_000)
    expect(ending).toEqual({ code: 0, signal: undefined, stderr: '' })
    const moments = JSON.parse(last) as { atBirth: number, atCall: number }
    expect(moments.atBirth + moments.atCall).toBe(40)
  })
})

describe('a mount', () => {
  it('comes and goes 1,000 times, with calls in flight each time', async () => {
    const rig = await Rig.open(ours)
    const listeners = () => ['agent/pre-step', 'tools/result', 'session/event'].map(event => rig.host.ctx.events.dispatch('emit', [event]).length)
    const before = listeners()
    expect(before).toEqual([1, 1, 1])
    const { agent } = rig.agent()
    for (let mount = 1; mount <= 1_000; mount++) {
      rig.pace((['prompt', 'slow', 'never'] as const)[mount % 3] as 'slow')
      touch(agent)
      const rehearsal = rehearse(agent)
      if (mount % 2 === 0) await new Promise(resolve => setImmediate(resolve))
      await rig.host.unmount()
      // Nobody is left waiting, and what is on its way is let go.
      await rehearsal
      agent.endTurn()
      await rig.host.mount(OPTIONS)
      if (mount % 100 !== 0) continue
      rig.pace('prompt')
      rig.edit('/w/p/AGENTS.md')
      touch(agent)
      expect(await step(agent)).toContain('agent-instructions')
      expect(await step(agent)).toEqual(['user'])
    }
    rig.pace('prompt')
    await settle()
    expect(listeners()).toEqual(before)
    await rig.host.stop()
  })
})

describe('memory', () => {
  it('does not grow with what was done', async () => {
    // A short version of `npm run soak`; what it leaks each time, a message or a task, exceeds these bounds.
    // With fewer sessions the allocator's own growth, a page or an arena at a time, would too.
    const { last, ...ending } = await run('soak.ts', ['--composes', '2400', '--sessions', '2000', '--json'], ['--expose-gc', '--max-semi-space-size=2'], 240_000)
    expect(ending).toEqual({ code: 0, signal: undefined, stderr: '' })
    const growths = new Map((JSON.parse(last) as Growth[]).map(growth => [growth.what, growth]))
    const idle = growths.get('session that idles')
    growths.delete('session that idles')
    expect(growths.size).toBeGreaterThan(5)
    for (const { what, typical, external, heap } of growths.values()) {
      expect(typical, `resident bytes for each ${what}`).toBeLessThan(1_024)
      expect(heap, `heap bytes for each ${what}`).toBeLessThan(2_048)
      expect(Math.abs(external), `external bytes for each ${what}`).toBeLessThan(64)
    }
    // The session and its messages are the greater part.
    expect(idle?.resident).toBeLessThan(40_960)
  })
})
