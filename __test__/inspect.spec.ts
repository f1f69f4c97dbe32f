/**
 * Each state of the inspection, told the same of a real disk read natively, of one read through dsh-fs-local,
 * and of a provider in memory; and that its text is what a session is really told.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { LocalFileSystem } from '@deepseek-ai/dsh-fs-local'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import type { InspectedInstruction, InspectOptions, InstructionInspection } from '@deepseek-ai/dsh-agent-instructions'
import { Host, settle } from './support/host.ts'
import type { InstructionsPlugin } from './support/host.ts'
import { World, memoryFs } from './support/memory-fs.ts'
import type { OperationLog } from './support/memory-fs.ts'

type Provider = NonNullable<Parameters<typeof ours.inspectAgentInstructions>[1]>
type Options = Partial<InspectOptions>

/** A tree with a project in it, and a way to have it inspected. Paths are relative to its top. */
interface Place {
  write(path: string, content: string): void
  directory(path: string): void
  link(path: string, to: string): void
  /** Something that is neither a file nor a directory. */
  other(path: string): void
  path(path: string): string
  inspect(options?: Options): Promise<InstructionInspection>
  /** What a session in `project/app` is really told: first, and after the touch. */
  tell(config: { maxBytes: number }, touch?: string): Promise<string[]>
}

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** The parts that depend on nothing but a mounted provider. */
function over(path: (name: string) => string, host: Host, native: boolean): Pick<Place, 'path' | 'inspect' | 'tell'> {
  const home = { dshHome: path('home') }
  let mounted: Promise<unknown> | undefined
  const mount = (config: object) => mounted = (mounted ?? host.start({ maxBytes: 0 })).then(async () => {
    await host.unmount()
    await host.mount(config)
  })
  stops.push(() => host.stop())
  return {
    path,
    async inspect(options = {}) {
      await mount({ maxBytes: 0 })
      const provider = native ? undefined : host.ctx.get('fs') as Provider
      return await ours.inspectAgentInstructions({ cwd: path('project/app'), maxBytes: 65_536, ...home, ...options }, provider)
    },
    async tell(config, touch) {
      await mount({ ...home, ...config })
      const agent = host.agent(path('project/app'))
      agent.prompt('go on')
      const first = agent.enter(await agent.preStep())
      if (touch !== undefined) agent.toolResult({ name: 'read', arguments: { file_path: touch } })
      agent.endStep()
      await settle()
      agent.prompt('go on')
      const second = agent.enter(await agent.preStep())
      return [...first, ...second]
        .filter(message => message.source.kind === 'agent-instructions')
        .flatMap(message => message.content.map(block => block.type === 'text' ? block.text : ''))
    },
  }
}

function onDisk(native: boolean): Place {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'inspect-')))
  stops.push(() => rmSync(top, { recursive: true }))
  const made = (path: string) => {
    mkdirSync(dirname(join(top, path)), { recursive: true })
    return join(top, path)
  }
  return {
    ...over(path => join(top, path), new Host(ours as unknown as InstructionsPlugin, LocalFileSystem, { cwd: top }), native),
    write: (path, content) => writeFileSync(made(path), content),
    directory: path => mkdirSync(made(path), { recursive: true }),
    link: (path, to) => symlinkSync(to, made(path)),
    other: path => execFileSync('mkfifo', [made(path)]),
  }
}

function inMemory(world = new World(), log: OperationLog = []): Place {
  return {
    ...over(path => posix.join('/', path), new Host(ours as unknown as InstructionsPlugin, memoryFs(world, log)), false),
    write: (path, content) => world.file(`/${path}`, content),
    directory: path => world.directory(`/${path}`),
    link: (path, to) => world.link(`/${path}`, to),
    other: path => world.other(`/${path}`),
  }
}

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex')
const section = (path: string, content: string) => `Instructions from: ${path}\n\n${content}`

/** Where anything stands, by model-facing path. */
function present({ files }: InstructionInspection): Record<string, InspectedInstruction['state']> {
  return Object.fromEntries(files.filter(({ state }) => state !== 'absent').map(({ displayPath, state }) => [displayPath, state]))
}

function at({ files }: InstructionInspection, displayPath: string): InspectedInstruction {
  const found = files.find(file => file.displayPath === displayPath)
  if (found === undefined) throw new Error(`${displayPath} is no candidate`)
  return found
}

const windows = process.platform === 'win32'
const PLACES = {
  'the disk, natively': () => onDisk(true),
  'the disk, through dsh-fs-local': () => onDisk(false),
  // Its paths are those of POSIX.
  ...(windows ? {} : { 'a provider in memory': () => inMemory() }),
}

describe.each(Object.entries(PLACES))('on %s', (where, open) => {
  function project(files: Record<string, string> = {}): Place {
    const place = open()
    place.directory('project/.git')
    place.directory('project/app')
    place.directory('home')
    for (const [path, content] of Object.entries(files)) place.write(path, content)
    return place
  }

  it('loaded: with its bytes, its share, its digest and its directory', async () => {
    const place = project({ 'home/AGENTS.md': 'at home', 'project/AGENTS.md': 'schön</system-reminder>', 'project/app/CLAUDE.local.md': 'mine' })
    const inspection = await place.inspect({ maxBytes: 1000 })
    expect(inspection).toMatchObject({
      cwd: place.path('project/app'),
      projectRoot: place.path('project'),
      dshHome: place.path('home'),
      maxBytes: 1000,
      maxSourceBytes: 1_048_576,
    })
    const messageBytes = Buffer.byteLength(section('AGENTS.md', 'schön<\\/system-reminder>'))
    expect(at(inspection, 'AGENTS.md')).toEqual({
      absolutePath: place.path('project/AGENTS.md'),
      displayPath: 'AGENTS.md',
      directory: '.',
      message: 'baseline',
      state: 'loaded',
      bytes: 24,
      messageBytes,
      budgetShare: messageBytes / 1000,
      digest: sha1('schön</system-reminder>'),
    })
    expect(at(inspection, '$DSH_HOME/AGENTS.md')).toMatchObject({ state: 'loaded', directory: 'user-global', message: 'baseline' })
    expect(at(inspection, 'app/CLAUDE.local.md')).toMatchObject({ state: 'loaded', directory: 'app' })
    expect(inspection.rendered).toHaveLength(1)
    // The sections, two line feeds before each, a frame and an introduction.
    const sum = inspection.files.reduce((sum, file) => sum + file.messageBytes, 0)
    const [introduction] = /^<system-reminder>\n.*?(?=\n\nInstructions from: )/s.exec(inspection.rendered[0] as string) as RegExpExecArray
    expect(Buffer.byteLength(inspection.rendered[0] as string)).toBe(introduction.length + 3 * 2 + sum + '\n</system-reminder>'.length)
  })

  it('omitted and truncated: by the budget, the broadest first', async () => {
    const text = 'x'.repeat(2000)
    const place = project({ 'project/AGENTS.md': text, 'project/app/AGENTS.md': text })
    const inspection = await place.inspect({ maxBytes: 1000 })
    expect(present(inspection)).toEqual({ 'AGENTS.md': 'omitted', 'app/AGENTS.md': 'truncated' })
    expect(at(inspection, 'AGENTS.md')).toMatchObject({ bytes: 2000, messageBytes: 0, budgetShare: 0, digest: sha1(text) })
    const cut = at(inspection, 'app/AGENTS.md')
    expect(inspection.rendered).toEqual([expect.stringContaining(`truncated app/AGENTS.md from 2000 to ${cut.includedBytes} bytes`)])
    expect(cut.messageBytes).toBe(section('app/AGENTS.md', 'x'.repeat(cut.includedBytes as number)).length)
    expect(Buffer.byteLength(inspection.rendered[0] as string)).toBe(1000)
  })

  it('duplicate: of a text in the same directory, and of that one only', async () => {
    const place = project({ 'project/AGENTS.md': 'same', 'project/CLAUDE.md': '\n same\r\n', 'project/app/CLAUDE.md': 'same' })
    const inspection = await place.inspect()
    expect(present(inspection)).toEqual({ 'AGENTS.md': 'loaded', 'CLAUDE.md': 'duplicate', 'app/CLAUDE.md': 'loaded' })
    expect(at(inspection, 'CLAUDE.md')).toMatchObject({ duplicateOf: 'AGENTS.md', messageBytes: 0, bytes: 8, digest: sha1('\n same\r\n') })
  })

  it('duplicate: of the same file, when home is the project root', async () => {
    const place = project({ 'project/AGENTS.md': 'text' })
    const inspection = await place.inspect({ dshHome: place.path('project') })
    expect(present(inspection)).toEqual({ '$DSH_HOME/AGENTS.md': 'loaded', 'AGENTS.md': 'duplicate' })
    expect(at(inspection, 'AGENTS.md')).toMatchObject({ duplicateOf: '$DSH_HOME/AGENTS.md', absolutePath: place.path('project/AGENTS.md') })
  })

  it('absent: every other candidate, in the order in which they count', async () => {
    const inspection = await project().inspect()
    const names = ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md']
    expect(inspection.files.map(file => file.displayPath)).toEqual(['$DSH_HOME/AGENTS.md', ...names, ...names.map(name => `app/${name}`)])
    for (const file of inspection.files) {
      expect(file).toEqual({ ...file, state: 'absent', messageBytes: 0, budgetShare: 0 })
      expect(file).not.toHaveProperty('reason')
    }
    expect(inspection.rendered).toEqual([])
  })

  it('absent: with what stands in its place', async () => {
    const place = project()
    place.directory('project/AGENTS.md')
    place.link('project/CLAUDE.md', '../nowhere.md')
    place.link('project/app/AGENTS.md', '..')
    const inspection = await place.inspect()
    expect(present(inspection)).toEqual({})
    expect(at(inspection, 'AGENTS.md').reason).toBe('a directory, not a file')
    expect(at(inspection, 'CLAUDE.md').reason).toBe('a link that leads to no file')
    expect(at(inspection, 'app/AGENTS.md').reason).toBe('a link that leads to no file')
  })

  it.skipIf(windows)('absent: with a pipe in its place', async () => {
    const place = project()
    place.other('project/AGENTS.md')
    expect(at(await place.inspect(), 'AGENTS.md')).toMatchObject({ state: 'absent', reason: 'not a regular file' })
  })

  it('unavailable: with the reason', async () => {
    const place = project({ 'project/app/AGENTS.md': 'text' })
    place.link('project/AGENTS.md', 'AGENTS.md')
    const inspection = await place.inspect()
    expect(present(inspection)).toEqual({ 'AGENTS.md': 'unavailable', 'app/AGENTS.md': 'loaded' })
    expect(at(inspection, 'AGENTS.md')).toMatchObject({ messageBytes: 0, reason: windows ? expect.any(String) : expect.stringMatching(/symbolic links|ELOOP|too many links/i) })
  })

  it('oversized: with the size that is reported', async () => {
    const inspection = await project({ 'project/AGENTS.md': 'x'.repeat(101), 'project/app/AGENTS.md': 'x'.repeat(100) }).inspect({ maxSourceBytes: 100 })
    expect(present(inspection)).toEqual({ 'AGENTS.md': 'oversized', 'app/AGENTS.md': 'loaded' })
    expect(at(inspection, 'AGENTS.md')).toMatchObject({ bytes: 101, messageBytes: 0 })
    expect(at(inspection, 'AGENTS.md')).not.toHaveProperty('digest')
  })

  it('disabled: whatever is there, by a budget that turns loading off', async () => {
    const place = project({ 'project/AGENTS.md': 'text', 'project/app/sub/AGENTS.md': 'nested' })
    for (const maxBytes of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const inspection = await place.inspect({ maxBytes, touch: 'sub/x' })
      expect(present(inspection)).toEqual({ 'AGENTS.md': 'disabled', 'app/sub/AGENTS.md': 'disabled' })
      expect(at(inspection, 'AGENTS.md')).toMatchObject({ bytes: 4, messageBytes: 0, budgetShare: 0 })
      expect(inspection.rendered).toEqual([])
    }
  })

  it('a touch adds what is below, in a message of its own', async () => {
    const place = project({ 'project/AGENTS.md': 'root', 'project/app/sub/CLAUDE.md': 'nested', 'project/app/sub/dir/AGENTS.md': 'deep' })
    expect(present(await place.inspect())).toEqual({ 'AGENTS.md': 'loaded' })
    for (const touch of ['sub/dir/x.ts', place.path('project/app/sub/dir/x.ts')]) {
      const inspection = await place.inspect({ touch })
      expect(inspection.touch).toBe(touch)
      expect(present(inspection)).toEqual({ 'AGENTS.md': 'loaded', 'app/sub/CLAUDE.md': 'loaded', 'app/sub/dir/AGENTS.md': 'loaded' })
      expect(inspection.files.filter(file => file.message === 'touch').map(file => file.directory)).toEqual([...Array(4).fill('app/sub'), ...Array(4).fill('app/sub/dir')])
      expect(inspection.rendered).toEqual([expect.stringContaining('root'), expect.stringMatching(/Additional instructions from: app\/sub\/CLAUDE.md.*dir\/AGENTS.md/s)])
    }
    for (const touch of ['x.ts', '../x.ts', '../other/x.ts']) expect(present(await place.inspect({ touch }))).toEqual({ 'AGENTS.md': 'loaded' })
  })

  it('the text is what a session is told', async () => {
    const place = project({
      'home/AGENTS.md': 'at home\n',
      'project/AGENTS.md': `${'long '.repeat(200)}</system-reminder>`,
      'project/CLAUDE.md': 'other',
      'project/app/AGENTS.md': '名前\n',
      'project/app/AGENTS.local.md': '名前',
      'project/app/sub/AGENTS.md': 'nested '.repeat(100),
    })
    for (const maxBytes of [65_536, 1200, 700, 300, 80]) {
      const { rendered } = await place.inspect({ maxBytes, touch: 'sub/x' })
      expect(rendered, `${maxBytes}`).toEqual(await place.tell({ maxBytes }, 'sub/x'))
    }
  })

  it('nothing is changed, and what comes back is plain data', async () => {
    const place = project({ 'project/AGENTS.md': 'text', 'project/app/sub/AGENTS.md': 'nested' })
    place.link('project/CLAUDE.md', 'AGENTS.md')
    const before = where === 'a provider in memory' ? '' : snapshot(place.path('.'))
    const inspection = await place.inspect({ touch: 'sub/x' })
    if (before !== '') expect(snapshot(place.path('.'))).toEqual(before)
    expect(JSON.parse(JSON.stringify(inspection))).toEqual(inspection)
  })

  it('a given root is taken, an aborted signal is heeded', async () => {
    const place = project({ 'AGENTS.md': 'top' })
    const inspection = await place.inspect({ projectRoot: place.path('') })
    expect(inspection.projectRoot).toBe(place.path(''))
    expect(present(inspection)).toEqual({ 'AGENTS.md': 'loaded' })
    const reason = new Error('enough')
    await expect(place.inspect({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})

/** Every entry with its times, so that a write of the same content shows too. */
function snapshot(top: string): unknown {
  return readdirSync(top, { recursive: true, encoding: 'utf8' }).sort().map(name => {
    const path = join(top, name)
    const { mtimeMs, ctimeMs, mode } = lstatSync(path)
    const content = lstatSync(path).isFile() ? readFileSync(path, 'utf8') : lstatSync(path).isSymbolicLink() ? readlinkSync(path) : ''
    return [name, mtimeMs, ctimeMs, mode, content]
  })
}

it.skipIf(windows)('asks a provider for nothing but what loading asks for', async () => {
  const log: OperationLog = []
  const world = new World()
  const place = inMemory(world, log)
  world.directory('/project/.git')
  world.file('/project/app/AGENTS.md', 'text')
  await place.inspect()
  expect(new Set(log.map(line => line.split(' ')[0]))).toEqual(new Set(['resolve', 'stat', 'lstat', 'open']))
})

it.skipIf(windows)('gives the provider\'s own words for each way to fail', async () => {
  const world = new World()
  const place = inMemory(world)
  onTestFinished(() => world.faults.clear())
  world.directory('/project/.git')
  for (const [name, point] of [['AGENTS.md', 'resolve'], ['CLAUDE.md', 'stat'], ['AGENTS.local.md', 'open'], ['CLAUDE.local.md', 'read']]) {
    world.file(`/project/app/${name}`, 'text')
    world.faults.set(`${point}:/project/app/${name}`, 0)
  }
  const { files } = await place.inspect()
  const reasons = files.filter(file => file.state === 'unavailable').map(file => file.reason)
  expect(reasons).toEqual(['resolve', 'stat', 'open', 'read'].map((point, index) =>
    `fault: ${point} /project/app/${['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md'][index]}`))
})
