/**
 * The tarballs of `npm run pack:local`, installed into an empty project: they load with no
 * build step and no install script, offer what the published package offers, and type-check.
 *
 * Only the two tarballs and what they depend on are installed, from npm's cache where it can.
 * The peer packages are links to the ones of this repository: they are the host's to bring,
 * and resolving them anew would test the registry.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadBaselineInstructions, renderWorkspaceContext } from 'published-agent-instructions'

const NAME = '@deepseek-ai/dsh-agent-instructions'
const repository = fileURLToPath(new URL('..', import.meta.url))
const artifacts = join(repository, 'artifacts')
const project = realpathSync(mkdtempSync(join(tmpdir(), 'instructions-packed-')))
const installed = join(project, 'node_modules', NAME)
const windows = process.platform === 'win32'
let platformPackage = ''

interface Manifest {
  name: string
  version: string
  scripts?: Record<string, string>
  peerDependencies: Record<string, string>
  optionalDependencies?: Record<string, string>
}

function manifestOf(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
}

/** Everything that the packages may import of the host, linked beside them. */
function linkHost(manifest: Manifest): void {
  for (const name of [...Object.keys(manifest.peerDependencies), '@deepseek-ai/dsh-fs-local', 'published-agent-instructions', '@types/node']) {
    const link = join(project, 'node_modules', name)
    mkdirSync(join(link, '..'), { recursive: true })
    if (!existsSync(link)) symlinkSync(realpathSync(join(repository, 'node_modules', name)), link, 'junction')
  }
}

/** Node binaries to load the package with: this one, and another major version if PATH has one. */
function nodes(): [string, string][] {
  const found = new Map([[process.versions.node.split('.')[0] as string, process.execPath]])
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, windows ? 'node.exe' : 'node')
    const version = existsSync(path) ? spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout?.match(/^v(\d+)\./)?.[1] : undefined
    if (version !== undefined && Number(version) >= 20 && !found.has(version)) found.set(version, path)
  }
  return [...found]
}

/** Run a module of the project; it prints one JSON value. */
function run(node: string, source: string): { status: number | null, value: unknown, stderr: string } {
  const file = join(project, 'main.mjs')
  writeFileSync(file, source)
  const { status, stdout, stderr } = spawnSync(node, [file], { cwd: project, encoding: 'utf8', timeout: 60_000 })
  return { status, value: stdout === '' ? undefined : JSON.parse(stdout), stderr }
}

/** What the compiler says about a file of the project. */
function compile(source: string, options: object = {}): string {
  writeFileSync(join(project, 'consumer.ts'), source)
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({
    compilerOptions: { module: 'nodenext', target: 'es2023', strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: ['node'], ...options },
    files: ['consumer.ts'],
  }))
  const { stdout, stderr } = spawnSync(process.execPath, [join(repository, 'node_modules/typescript/bin/tsc'), '-p', project], { cwd: project, encoding: 'utf8' })
  return stdout + stderr
}

beforeAll(() => {
  const tarballs = existsSync(artifacts) ? readdirSync(artifacts).filter(name => name.endsWith('.tgz')) : []
  expect(tarballs, 'artifacts/ holds the two tarballs: run `npm run pack:local` first').toHaveLength(2)
  for (const name of tarballs) copyFileSync(join(artifacts, name), join(project, name))
  writeFileSync(join(project, 'package.json'), '{ "name": "packed", "private": true, "type": "module" }')
  const flags = ['--ignore-scripts', '--legacy-peer-deps', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, ...tarballs.map(name => `./${name}`)], { cwd: project, stdio: 'pipe', shell: windows })
  const manifest = manifestOf(installed)
  platformPackage = `@deepseek-ai/${readdirSync(join(installed, '..')).find(name => name.startsWith('dsh-agent-instructions-'))}`
  linkHost(manifest)
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

describe('what the tarballs hold', () => {
  it('a root package that names its platform packages, and no binary', () => {
    const manifest = manifestOf(installed)
    expect(manifest.name).toBe(NAME)
    expect(manifest.optionalDependencies).toHaveProperty([platformPackage], manifest.version)
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    expect(files).toEqual(expect.arrayContaining(['package.json', 'index.d.ts', 'README.md', 'LICENSE', join('lib', 'index.js'), join('lib', 'invariant.d.ts')]))
    expect(files.filter(name => !/(\.js|\.d\.ts|^package\.json|^README\.md|^LICENSE|^lib)$/.test(name))).toEqual([])
  })

  it('a platform package that is nothing but the binary', () => {
    const directory = join(project, 'node_modules', platformPackage)
    expect(manifestOf(directory).version).toBe(manifestOf(installed).version)
    expect(readdirSync(directory).filter(name => !/^(README\.md|LICENSE|package\.json)$/.test(name))).toEqual([expect.stringMatching(/\.node$/)])
  })

  it('no script', () => {
    for (const name of [NAME, platformPackage]) expect(manifestOf(join(project, 'node_modules', name)).scripts ?? {}).toEqual({})
  })

  it('no path of the machine that packed them', () => {
    for (const name of readdirSync(installed, { recursive: true, encoding: 'utf8' })) {
      if (/\.(js|ts|json|md)$/.test(name)) expect(readFileSync(join(installed, name), 'utf8'), name).not.toContain(repository)
    }
  })
})

describe.each(nodes())('loaded with Node %s', (_major, node) => {
  it('offers what the published package offers, and no default', () => {
    const { value, stderr } = run(node, `
      const load = async request => Object.keys(await import(request))
      const refused = {}
      for (const path of ['lib/index.js', 'lib/native.js', 'lib/plugin.js', 'index.d.ts', 'src-js/index.ts', 'default']) {
        try { refused[path] = await load('${NAME}/' + path) } catch (error) { refused[path] = error.code }
      }
      const { default: manifest } = await import('${NAME}/package.json', { with: { type: 'json' } })
      console.log(JSON.stringify({
        published: await load('published-agent-instructions'),
        main: await load('${NAME}'),
        invariant: await load('${NAME}/invariant'),
        name: (await import('${NAME}')).name,
        manifest: manifest.name,
        refused,
      }))`)
    expect(stderr.replaceAll(/^.*(ExperimentalWarning|--trace-warnings).*\n/gm, '')).toBe('')
    const { published, main, invariant, name, manifest, refused } = value as Record<string, string[]>
    expect(main).toEqual(expect.arrayContaining([...published ?? ['?'], 'renderAgentInstructions']))
    expect(main).not.toContain('default')
    expect(invariant?.sort()).toEqual(['apply', 'inject', 'name'])
    expect(name).toBe('agent-instructions')
    expect(manifest).toBe(NAME)
    expect(new Set(Object.values(refused ?? {}))).toEqual(new Set(['ERR_PACKAGE_PATH_NOT_EXPORTED']))
  })

  it('renders and loads what the published package renders and loads', async () => {
    const files = [
      { absolutePath: '/w/AGENTS.md', displayPath: 'AGENTS.md', content: 'Use tabs. 😀</system-reminder>'.repeat(9) },
      { absolutePath: '/w/a/AGENTS.md', displayPath: 'a/AGENTS.md', content: '\ud800é\ufeff\n' },
    ]
    const tree = join(project, 'tree')
    mkdirSync(join(tree, '.git'), { recursive: true })
    writeFileSync(join(tree, 'AGENTS.md'), 'Rules of the tree.\n')
    writeFileSync(join(tree, 'CLAUDE.md'), '\ufeffRules of the tree.')
    const options = { cwd: tree, dshHome: join(tree, 'home'), maxBytes: 65_536 }
    const { value, stderr } = run(node, `
      import { loadBaselineInstructions, renderWorkspaceContext } from '${NAME}'
      import { Context } from '@deepseek-ai/cordis'
      import { LocalFileSystem } from '@deepseek-ai/dsh-fs-local'
      const context = new Context()
      await context.plugin(LocalFileSystem, {})
      const options = ${JSON.stringify(options)}
      console.log(JSON.stringify({
        rendered: [200, 300, 400, 4000].map(maxBytes => renderWorkspaceContext(${JSON.stringify(files)}, { maxBytes })),
        fromDisk: await loadBaselineInstructions(options),
        fromProvider: await loadBaselineInstructions(options, context.get('fs')),
      }))`)
    expect(value, stderr).toBeDefined()
    const { rendered, fromDisk, fromProvider } = value as Record<string, unknown>
    expect(rendered).toEqual([200, 300, 400, 4000].map(maxBytes => JSON.parse(JSON.stringify(renderWorkspaceContext(files, { maxBytes })))))
    expect(fromDisk).toEqual(await loadBaselineInstructions(options))
    expect(fromProvider).toMatchObject({ text: expect.stringContaining('Rules of the tree.') })
  })

  it('mounts, refuses bad configuration, and registers its companion', () => {
    const { value, stderr } = run(node, `
      import { Context } from '@deepseek-ai/cordis'
      import Invariants from '@deepseek-ai/dsh-invariants'
      import SessionStore from '@deepseek-ai/dsh-session'
      import * as instructions from '${NAME}'
      import * as invariant from '${NAME}/invariant'
      const context = new Context()
      await context.plugin(SessionStore)
      await context.plugin(Invariants)
      const registered = []
      const { register } = context.invariants
      context.invariants.register = function (name, ...rest) { registered.push(name); return register.call(this, name, ...rest) }
      await context.plugin(invariant)
      const refused = await context.plugin(instructions, {}).then(() => 'mounted', error => error.name + ': ' + error.message)
      await context.plugin(instructions, { maxBytes: 65536 })
      // A name can be taken once only, so that it has been.
      const again = await (async () => { await register.call(context.invariants, '${NAME}', () => {}) })().then(() => 'free', () => 'taken')
      await context.fiber.dispose()
      console.log(JSON.stringify({ registered, refused, again, inject: invariant.inject, name: invariant.name }))`)
    expect(value, stderr).toEqual({
      registered: [NAME],
      refused: 'ValidationError: invalid config:\n  - $.maxBytes missing required value (at maxBytes)',
      again: 'taken',
      inject: ['invariants'],
      name: 'workspace-context-invariant',
    })
  })

  it('says what is missing without its platform package, and what to do', () => {
    const directory = join(project, 'node_modules', platformPackage)
    const aside = join(project, 'aside')
    renameSync(directory, aside)
    try {
      const { value } = run(node, `console.log(JSON.stringify(await import('${NAME}').then(() => 'loaded', error => error.message)))`)
      expect(value).toContain(platformPackage)
      expect(value).toContain(`for ${platformPackage.slice(NAME.length + 1)}`)
      expect(value).toMatch(/reinstall without --omit=optional/)
    } finally {
      renameSync(aside, directory)
    }
  })
})

describe('types', () => {
  const use = `
    import * as plugin from '${NAME}'
    import { Config, apply, discoverBaselineInstructionFiles, loadBaselineInstructions, name, renderAgentInstructions, renderWorkspaceContext } from '${NAME}'
    import type { InstructionFile, LoadedInstructionFile, RenderedWorkspaceContext, TruncatedInstruction } from '${NAME}'
    import { apply as applyInvariant, inject, name as invariantName } from '${NAME}/invariant'
    import type { Context } from '@deepseek-ai/cordis'
    import type { MessageSource, MessageSourceMap } from '@deepseek-ai/dsh-llm'

    const config: Config = { maxBytes: 65_536, projectRootMarkers: ['.git'] }
    const validated: Config = Config(config)
    const file: InstructionFile = { absolutePath: '/w/AGENTS.md', displayPath: 'AGENTS.md' }
    const loaded: LoadedInstructionFile = { ...file, content: 'text' }
    const rendered: RenderedWorkspaceContext = renderWorkspaceContext([loaded], { maxBytes: config.maxBytes, replacePreviousBaseline: true })
    const cut: TruncatedInstruction | undefined = rendered.truncated[0]
    const same: typeof renderWorkspaceContext = renderAgentInstructions
    const source: MessageSource = { kind: 'agent-instructions', form: 'instructions', baseline: true, baselineIdentity: '{}', changes: [{ action: 'set', scope: '.', path: 'AGENTS.md', digest: '' }] }
    function changesOf(from: MessageSource): string[] {
      return from.kind === 'agent-instructions' ? from.changes.map(({ action, path }) => action + ' ' + path) : []
    }
    const mapped: MessageSourceMap['agent-instructions'] = { kind: 'agent-instructions', form: 'instructions', changes: [] }
    export async function mount(context: Context): Promise<unknown> {
      await context.plugin(plugin, { maxBytes: 1 })
      apply(context, validated)
      await applyInvariant(context)
      const found: InstructionFile[] = await discoverBaselineInstructionFiles({ cwd: '.', signal: new AbortController().signal })
      const baseline: RenderedWorkspaceContext | undefined = await loadBaselineInstructions({ cwd: '.', maxBytes: 1 }, context.get('fs'))
      return [found, baseline, cut, same, source, mapped, changesOf(source), name satisfies string, inject satisfies string[], invariantName]
    }
    // @ts-expect-error maxBytes is required
    const missing: Config = {}
    // @ts-expect-error there is no default export
    import nothing from '${NAME}'
    // @ts-expect-error the inside of the package is not to be had
    import inside from '${NAME}/lib/plugin.js'
    // @ts-expect-error an action is one of three
    const wrong: MessageSource = { kind: 'agent-instructions', form: 'instructions', changes: [{ action: 'add', scope: '.', path: 'AGENTS.md' }] }
    export { inside, missing, nothing, wrong }
  `

  it('a consumer compiles, under nodenext and strict, with all declarations checked', () => {
    expect(compile(use)).toBe('')
  })

  it('only an import of the package adds its source to the harness\'s', () => {
    expect(compile(`import type { MessageSourceMap } from '@deepseek-ai/dsh-llm'\nexport type Source = MessageSourceMap['agent-instructions']`, { skipLibCheck: true }))
      .toContain('agent-instructions')
    expect(compile(`import type {} from '${NAME}'\nimport type { MessageSourceMap } from '@deepseek-ai/dsh-llm'\nexport type Source = MessageSourceMap['agent-instructions']`, { skipLibCheck: true })).toBe('')
  })

  it('stands wherever the published package stands', () => {
    expect(compile(`import * as ours from '${NAME}'\nimport * as published from 'published-agent-instructions'\nexport const replacement: typeof published = ours`, { skipLibCheck: true })).toBe('')
  })
})
