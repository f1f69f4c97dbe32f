/**
 * Parity (c), continued: what the README leaves open, and configuration. As in
 * real-directory.spec.ts, `onStage` compares both packages after every action.
 */
import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Context } from '@deepseek-ai/cordis'
import SessionStore from '@deepseek-ai/dsh-session'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import * as published from 'published-agent-instructions'
import { begin, everyWay, expectSame, onStage, outcome, play } from './real-directory.ts'
import type { Faults } from './real-directory.ts'

describe('when files are looked at', () => {
  play('every pre-step reconciles every known scope, touched or not', {}, async stage => {
    stage.write('AGENTS.md', 'Root.')
    stage.write('sub/AGENTS.md', 'Sub.')
    await begin(stage)
    await stage.touch('sub/file.txt')
    await stage.turn()
    stage.write('sub/AGENTS.md', 'Edited.')
    await stage.turn()
    expect(stage.told).toContain('Edited.')
    stage.remove('sub/AGENTS.md')
    await stage.turn()
    expect(stage.told).toContain('removed: sub/AGENTS.md')
  })
  play('the first file of a project becomes its baseline', {}, async stage => {
    await begin(stage)
    expect(stage.told).toBe('')
    stage.write('AGENTS.md', 'Created.')
    await stage.turn()
    expect(stage.told).toContain('The following workspace instructions')
  })
  play('a marker that comes and goes', { cwd: 'work/deep' }, async stage => {
    for (const path of ['AGENTS.md', 'work/AGENTS.md', 'work/deep/AGENTS.md']) stage.write(path, `Rules of ${path}.`)
    await everyWay(stage, () => stage.directory('work/.git'), () => stage.remove('.git'), () => stage.remove('work/.git'), () => stage.write('work/deep/.git', ''))
    expect(stage.told).toContain('from: AGENTS.md')
  })
  play('inside a step, and in the steps of one turn', {}, async stage => {
    stage.write('sub/AGENTS.md', 'Sub.')
    await stage.start()
    await stage.step()
    await stage.touch('sub/file.txt')
    expect(stage.told).toBe('')
    await stage.step()
    expect(stage.told).toContain('Sub.')
    stage.write('sub/AGENTS.md', 'Edited.')
    await stage.touch('sub/file.txt')
    stage.write('sub/AGENTS.md', 'Edited again.')
    await stage.end(true)
    expect(stage.told).toContain('Edited again.')
    await stage.step()
    await stage.end()
  })
  play('cancelled', {}, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    await stage.start()
    await stage.step(undefined, () => AbortSignal.abort(new Error('stopped')))
    for (const op of ['resolve', 'stat', 'open', 'chunk'] as const) {
      let controller = new AbortController()
      const abort: Faults['before'] = at => { if (at === op) controller.abort(new Error(`stopped at ${op}`)) }
      stage.faults.before = abort
      await stage.step(undefined, () => (controller = new AbortController()).signal)
      delete stage.faults.before
    }
    expect(stage.told).toBe('')
    await stage.turn()
    expect(stage.told).toContain('Rules.')
  })
})

describe('where a session works', () => {
  play('in the process\'s directory, if it has none of its own', {}, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    stage.write('sub/AGENTS.md', 'Sub.')
    await stage.start()
    const before = process.cwd()
    process.chdir(stage.project)
    try {
      await stage.session()
      await stage.turn()
      expect(stage.told).toContain('Rules.')
      await stage.touch('sub/file.txt')
      expect(stage.told).toContain('Sub.')
    } finally {
      process.chdir(before)
    }
  })
  play('without a provider nothing is loaded', { noProvider: true }, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    await begin(stage)
    await stage.touch('sub/file.txt')
    await stage.turn()
    expect(stage.told).toBe('')
  })
})

describe('which paths are followed', () => {
  play('nested discovery is bounded by cwd', { cwd: 'sub' }, async stage => {
    for (const path of ['other/AGENTS.md', 'sub/AGENTS.md', 'sub/in/AGENTS.md', 'sub/..foo/AGENTS.md', 'sub/.../AGENTS.md', '../AGENTS.md']) stage.write(path, `Rules of ${path}.`)
    await begin(stage)
    for (const path of ['../other/file.txt', '../file.txt', '../../file.txt', '..foo/file.txt', '.../file.txt', stage.at('other/file.txt'), '/', '', '..', '.', 'in', '/etc/passwd']) {
      await stage.touch(path)
      await stage.turn()
    }
    await stage.touch(stage.at('sub/in/../in/file.txt'))
    expect(stage.told).toContain('Rules of sub/in/AGENTS.md.')
  })
  play('of which calls', {}, async stage => {
    for (const name of 'abcdefgh') stage.write(`${name}/AGENTS.md`, `Rules of ${name}.`)
    await begin(stage)
    const [parent, grandparent] = [Object.freeze({}), Object.freeze({})]
    const file = (path: unknown) => ({ file_path: path })
    await stage.call({ name: 'write', arguments: file('a/x') })
    await stage.call({ name: 'edit', arguments: file('b/x'), isError: true })
    await stage.call({ name: 'glob', arguments: file('b/x') })
    await stage.call({ name: 'read', arguments: file('b/x'), agentless: true })
    await stage.call({ name: 'read', arguments: file('b/x'), signal: AbortSignal.abort() })
    for (const odd of [null, 'b/x', {}, file(7), file(''), file(' \n'), file(['b/x']), { path: 'b/x' }]) await stage.call({ name: 'read', arguments: odd })
    await stage.call({ name: 'edit', arguments: file(' c/x\n') })
    await stage.call({ name: 'read', arguments: file('d/x'), parent })
    expect(stage.told).not.toContain('Rules of d.')
    await stage.call({ name: 'read', arguments: file('e/x'), parent, isError: true })
    await stage.call({ name: 'run_code', arguments: {}, token: parent, parent: grandparent, isError: true })
    await stage.call({ name: 'read', arguments: file('f/x'), token: grandparent })
    for (const name of 'acdf') expect(stage.told).toContain(`Rules of ${name}.`)
    for (const name of 'begh') expect(stage.told).not.toContain(`Rules of ${name}.`)
    await stage.turn()
    await stage.step()
    await stage.call({ name: 'read', arguments: file('g/x'), parent })
    await stage.end()
    await stage.call({ name: 'run_code', arguments: {}, token: parent })
    expect(stage.told).toContain('Rules of g.')
  })
})

describe('root markers and candidates', () => {
  const configs: Record<string, unknown>[] = [
    { projectRootMarkers: [] },
    { projectRootMarkers: ['nothing'] },
    { projectRootMarkers: ['.root', '.git'] },
    { projectRootMarkers: ['', '.', '..'] },
    { projectRootMarkers: ['AGENTS.md'] },
    { instructionFileCandidates: ['CLAUDE.md', 'AGENTS.md'] },
    { instructionFileCandidates: ['CLAUDE.md', 'AGENTS.md', 'CLAUDE.md'], localInstructionFileCandidates: ['CLAUDE.md', 'AGENTS.local.md', 'AGENTS.md'] },
    { instructionFileCandidates: [], localInstructionFileCandidates: ['AGENTS.md'] },
    { instructionFileCandidates: [], localInstructionFileCandidates: [] },
    { localInstructionFileCandidates: [] },
    { instructionFileCandidates: ['', '.', '..', 'sub/AGENTS.md', 'sub\\AGENTS.md', './CLAUDE.md', 'é.md', 'e\u0301.md', ' AGENTS.md', 'AGENTS.md '] },
    { instructionFileCandidates: ['agents.md', 'AGENTS.MD'] },
    { maxSourceBytes: 9 },
    { maxBytes: 300 },
  ]
  const files = ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md', 'agents.md', 'é.md', 'e\u0301.md', ' AGENTS.md']
  for (const config of configs) {
    play(JSON.stringify(config), { config, cwd: 'sub' }, async stage => {
      stage.write('.root', '')
      for (const directory of ['.', 'sub', 'sub/deep']) for (const file of files) stage.write(`${directory}/${file}`, file.startsWith('CLAUDE') ? 'Shared.' : `Of ${file}.`)
      await begin(stage)
      await stage.touch('deep/file.txt')
      await stage.turn()
      stage.write('sub/deep/CLAUDE.md', 'Of AGENTS.md.')
      stage.write('sub/AGENTS.md', 'Shared.')
      await stage.turn()
      stage.remove('sub/AGENTS.md')
      stage.write('sub/deep/AGENTS.md', 'No more shared.')
      await stage.turn()
      // Under the defaults and back: every option is part of the baseline's identity.
      await stage.remount(Object.fromEntries(Object.keys(config).map(key => [key, published.Config({ maxBytes: 65_536 })[key as never]])))
      await stage.turn()
      expect(stage.told).toContain('from: AGENTS.md')
      await stage.remount(config)
      await stage.turn()
    })
  }
  play('explicit defaults are the defaults', {}, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    await begin(stage)
    await stage.remount({ ...published.Config({ maxBytes: 65_536 }) })
    await stage.turn()
    expect(stage.told).toBe('')
  })
  play('an authority group keeps its state while one of it cannot be probed', {}, async stage => {
    stage.write('sub/AGENTS.md', 'One.')
    stage.write('sub/CLAUDE.md', 'Two.')
    await begin(stage)
    await stage.touch('sub/file.txt')
    await stage.turn()
    for (const name of ['AGENTS.md', 'CLAUDE.md']) {
      for (const op of ['resolve', 'stat', 'open'] as const) {
        stage.faults.before = (at, path) => { if (at === op && path.endsWith(`sub/${name}`)) throw new Error('fault') }
        for (const change of [() => stage.write('sub/CLAUDE.md', 'One.'), () => stage.remove('sub/AGENTS.md'), () => stage.write('sub/AGENTS.local.md', 'Three.'), () => stage.write('sub/AGENTS.md', 'Four.')]) {
          change()
          await stage.touch('sub/file.txt')
          await stage.turn()
        }
        delete stage.faults.before
        await stage.turn()
        expect(stage.told).not.toBe('')
        stage.remove('sub/AGENTS.local.md')
        stage.write('sub/AGENTS.md', 'One.')
        stage.write('sub/CLAUDE.md', 'Two.')
        await stage.turn()
      }
    }
  })
})

describe('white space, characters and chunks', () => {
  const spaces = ['\t', '\v', '\f', '\r', ' ', '\u0085', '\u00a0', '\u1680', '\u180e', '\u2000', '\u200a', '\u200b', '\u2028', '\u2029', '\u202f', '\u205f', '\u2060', '\u3000', '\ufeff', '\u001c', '\u001f', '\0']
  for (const space of spaces) {
    play(`duplicates but for U+${space.charCodeAt(0).toString(16).padStart(4, '0')}`, {}, async stage => {
      stage.write('AGENTS.md', 'Rules.')
      stage.write('CLAUDE.md', `Rules.${space}`)
      stage.write('sub/AGENTS.md', `${space}Rules.`)
      stage.write('sub/CLAUDE.md', `Rules.`)
      await begin(stage)
      await stage.touch('sub/file.txt')
      expect(stage.told).toContain('Rules.')
      await stage.turn()
    })
  }
  for (const chunkSize of [1, 2, 3, 5]) {
    const contents = { 'pairs split over chunks': ['😀é€'.repeat(4), 1_000], 'at the cap': ['é€x'.repeat(6), 36], 'one over': ['é€x'.repeat(6), 35] } as const
    for (const [name, [content, maxSourceBytes]] of Object.entries(contents)) {
      play(`chunks of ${chunkSize}, ${name}`, { config: { maxSourceBytes }, faults: { chunkSize } }, async stage => {
        stage.write('AGENTS.md', content)
        stage.write('CLAUDE.md', `${content}\n`)
        await everyWay(stage, () => stage.write('CLAUDE.md', '\n\ufeff😀'), () => stage.write('AGENTS.md', '😀'))
        expect(stage.told).toContain('😀')
      })
    }
  }
  // The running count is taken chunk by chunk: each half of a split pair is three bytes.
  it('a pair split over two chunks counts six bytes against maxSourceBytes', () => onStage({ faults: { chunkSize: 1 } }, async stage => {
    stage.write('AGENTS.md', '😀'.repeat(10))
    await stage.start()
    const options = { cwd: stage.project, dshHome: stage.at('../home'), maxBytes: 65_536 }
    const load = async (maxSourceBytes: number) => await Promise.all([published, ours].map(async ({ loadBaselineInstructions }, side) =>
      (await loadBaselineInstructions({ ...options, maxSourceBytes }, stage.provider(side)))?.text.includes('😀'.repeat(10))))
    expect(await load(59)).toEqual([undefined, undefined])
    expect(await load(60)).toEqual([true, true])
  }))
})

describe('what a listener makes of the claimed batch', () => {
  const instructions = (message: UserMessage) => message.source.kind === 'agent-instructions'
  const note = () => createUserMessage({ content: [{ type: 'text', text: 'note' }], source: { kind: 'plugin', plugin: 'neighbour' } })
  const decisions: Record<string, (claimed: UserMessage[]) => UserMessage[] | undefined> = {
    'rejects': () => undefined,
    'enters nothing': () => [],
    'takes the instructions out': claimed => claimed.filter(message => !instructions(message)),
    'takes the prompt out': claimed => [note(), ...claimed.filter(instructions)],
    'turns it round': claimed => [...claimed].reverse(),
    'surrounds it': claimed => [note(), ...claimed, note()],
  }
  for (const [name, decide] of Object.entries(decisions)) {
    play(name, {}, async stage => {
      const decision = (claimed: UserMessage[]) => {
        const messages = decide(claimed)
        return messages === undefined ? { kind: 'reject' as const } : { kind: 'enter' as const, messages }
      }
      stage.write('AGENTS.md', 'Rules.')
      stage.write('sub/AGENTS.md', 'Sub.')
      await stage.start()
      await stage.turn(decision)
      expect(stage.told).toContain('Rules.')
      await stage.touch('sub/file.txt')
      await stage.turn(decision)
      stage.write('sub/AGENTS.md', 'Edited.')
      await stage.turn(decision)
      await stage.step()
      await stage.touch('file.txt')
      stage.write('AGENTS.md', 'Edited.')
      await stage.step(decision)
      await stage.end()
      await stage.turn()
    })
  }
})

describe('the load functions, called directly', () => {
  const variants: Record<string, Record<string, unknown>> = {
    'a given root': { projectRoot: '.' },
    'a root below cwd': { projectRoot: 'sub/deep' },
    'a root elsewhere': { projectRoot: '../home' },
    'a missing root': { projectRoot: 'nowhere' },
    'a missing cwd': { cwd: 'nowhere/at/all' },
    'a file for a cwd': { cwd: 'AGENTS.md' },
    'no budget': { maxBytes: 0 },
    'an endless budget': { maxBytes: Infinity },
    'no budget at all': { maxBytes: undefined },
    'a small budget': { maxBytes: 300, replacePreviousBaseline: true },
    'a cap of nothing': { maxSourceBytes: 0 },
    'a fractional cap': { maxSourceBytes: 6.5 },
    'a negative cap': { maxSourceBytes: -1 },
    'a cap that is no number': { maxSourceBytes: Number.NaN },
    'an endless cap': { maxSourceBytes: Infinity },
    'an aborted signal': { signal: AbortSignal.abort(new Error('stopped')) },
    'no candidates': { instructionFileCandidates: [], localInstructionFileCandidates: [] },
  }
  for (const [name, variant] of Object.entries(variants)) {
    for (const spelling of ['absolute', 'relative'] as const) {
      it(`${name}, ${spelling}`, () => onStage({}, async stage => {
        for (const path of ['../home/AGENTS.md', 'AGENTS.md', 'CLAUDE.md', 'sub/AGENTS.md', 'sub/deep/AGENTS.md']) stage.write(path, `Of ${path}.`)
        stage.write('bom/AGENTS.md', '\ufeffBOM.')
        await stage.start()
        const spell = (path: unknown) => spelling === 'absolute' ? stage.at(path as string) : relative('', stage.at(path as string))
        const options = { cwd: 'sub/deep', dshHome: stage.at('../home'), maxBytes: 65_536, ...variant } as Record<string, unknown>
        for (const key of ['cwd', 'projectRoot']) if (key in options) options[key] = spell(options[key])
        for (const provider of [undefined, 'fs']) {
          const [theirs, mine] = await Promise.all([published, ours].map(({ loadBaselineInstructions, discoverBaselineInstructionFiles }, side) => Promise.all([
            outcome(() => discoverBaselineInstructionFiles(options as never)),
            outcome(() => loadBaselineInstructions(options as never, ...provider === undefined ? [] : [stage.provider(side)])),
          ])))
          expectSame(mine, theirs, `with ${provider ?? 'no'} provider`)
        }
      }))
    }
  }
})

describe('configuration', () => {
  const bad: unknown[] = [
    undefined, null, {}, 'text', 7, true, [],
    ...['1', null, undefined, [1], {}, 1n, true].map(maxBytes => ({ maxBytes })),
    ...[0, -1, 1.5, '1', Number.NaN, Infinity, {}, true].map(maxSourceBytes => ({ maxBytes: 1, maxSourceBytes })),
    ...[7, {}, [], true].map(dshHome => ({ maxBytes: 1, dshHome })),
    ...['projectRootMarkers', 'instructionFileCandidates', 'localInstructionFileCandidates'].flatMap(key =>
      ['x', 7, {}, [1], [[]], [{}], ['a', true], new Set(['a'])].map(value => ({ maxBytes: 1, [key]: value }))),
  ]
  const odd: unknown[] = [
    ...[Number.NaN, Infinity, -1, 0, 0.5].map(maxBytes => ({ maxBytes })),
    ...[null, undefined, 2 ** 53].map(maxSourceBytes => ({ maxBytes: 1, maxSourceBytes })),
    ...[null, undefined, ''].map(dshHome => ({ maxBytes: 1, dshHome })),
    ...['projectRootMarkers', 'instructionFileCandidates', 'localInstructionFileCandidates'].flatMap(key => [null, undefined, []].map(value => ({ maxBytes: 1, [key]: value }))),
    { maxBytes: 1, unknown: 1 },
  ]
  const mounting = (instructions: unknown, config: unknown) => outcome(async () => {
    const context = new Context()
    try {
      await context.plugin(SessionStore)
      await context.plugin(instructions as never, config as never)
      return 'mounted'
    } finally {
      await (context as unknown as { fiber: { dispose(): Promise<void> } }).fiber.dispose()
    }
  })
  const spell = (value: unknown) => JSON.stringify(value, (_, inner: unknown) => typeof inner === 'number' || typeof inner === 'bigint' || inner === undefined ? String(inner) : inner)

  for (const [kind, values] of [['fails', bad], ['passes', odd]] as const) {
    for (const value of values) {
      it(`${spell(value)} ${kind} as it does with the published package`, async () => {
        const theirs = await outcome(() => published.Config(value as never))
        expect(theirs).toHaveProperty(kind === 'fails' ? 'error' : 'value')
        expectSame(await outcome(() => ours.Config(value as never)), theirs, 'Config')
        const mount = await mounting(published, value)
        expect(mount).toHaveProperty(kind === 'fails' ? 'error' : 'value')
        expectSame(await mounting(ours, value), mount, 'mount')
      })
    }
  }

  it('has the same schema and defaults, but for what it adds', () => {
    const added = ['symlinks', 'maxTotalSourceBytes', 'rootMarkerErrors', 'strictEscaping']
    /** A schema by structure: the numbers that it gives its parts depend on what was declared before. */
    const structure = (schema: unknown) => {
      const { uid, refs } = (schema as { toJSON(): { uid: number, refs: Record<number, { inner?: number, dict?: Record<string, number> }> } }).toJSON()
      const resolve = (id: number): unknown => {
        const { inner, dict, ...own } = refs[id]!
        return { ...own, ...inner === undefined ? {} : { inner: resolve(inner) }, ...dict === undefined ? {} : { dict: Object.entries(dict).filter(([key]) => !added.includes(key)).map(([key, part]) => [key, resolve(part)]) } }
      }
      return resolve(uid)
    }
    expectSame(structure(ours.Config), structure(published.Config), 'schema')
    expectSame(ours.Config({ maxBytes: 1 }), published.Config({ maxBytes: 1 }), 'defaults')
    expect(ours.name).toBe(published.name)
  })

  // The one wanted difference: the schema lets it through, and then every turn of the published package fails.
  for (const key of ['projectRootMarkers', 'instructionFileCandidates', 'localInstructionFileCandidates']) {
    it(`a null among ${key} is refused at mount`, async () => {
      expect(await mounting(published, { maxBytes: 1, [key]: [null] })).toEqual({ value: 'mounted' })
      expect(await mounting(ours, { maxBytes: 1, [key]: [null] })).toEqual({ error: `TypeError: $.${key}[0] expected string but got null` })
    })
  }
})
