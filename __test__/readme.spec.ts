/** The README is run: its commands, its snippets, its way of installing; and its two languages are kept in step. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const english = readFileSync(join(root, 'README.md'), 'utf8')
const chinese = readFileSync(join(root, 'README.zh.md'), 'utf8')

/** Code blocks of one language, in order. */
function blocks(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === language).map(([, , code]) => code as string)
}

/** Commands of the console blocks, without their comments. */
function commands(text: string): string[] {
  return blocks(text, 'console').flatMap(block => block.split('\n'))
    .filter(line => line.startsWith('$ '))
    .map(line => line.slice(2).replace(/\s+#.*$/, '').trim())
}

let repository: string

beforeAll(() => {
  repository = mkdtempSync(join(tmpdir(), 'readme-'))
  mkdirSync(join(repository, '.git'))
  mkdirSync(join(repository, 'packages/app/src'), { recursive: true })
  writeFileSync(join(repository, 'AGENTS.md'), 'Root rules.\n')
  writeFileSync(join(repository, 'packages/app/AGENTS.md'), 'App rules.\n')
})
afterAll(() => rmSync(repository, { recursive: true }))

function node(args: string[], options: { cwd: string }): string {
  return execFileSync(process.execPath, args, { ...options, encoding: 'utf8', env: { ...process.env, DSH_HOME: join(repository, 'home') } })
}

describe('commands', () => {
  const inspector = commands(english).filter(command => command.startsWith('npx '))
  it('shows the inspector', () => expect(inspector.length).toBeGreaterThan(2))
  for (const command of inspector) {
    it(command, () => {
      const [, name, ...args] = command.split(/\s+/)
      expect(name).toBe('@deepseek-ai/dsh-agent-instructions')
      expect(node([join(root, 'lib/cli.js'), ...args], { cwd: repository })).toContain('AGENTS.md')
    })
  }
  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
    const named = [...`${english}\n${readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')}`.matchAll(/npm (?:run ([\w:]+)|(test))/g)].map(([, script, test]) => script ?? test as string)
    expect(named).toContain('test')
    for (const name of named) expect(scripts, name).toHaveProperty([name])
  })
})

describe('snippets', () => {
  it('the code example says what is loaded and renders it', () => {
    const [code] = blocks(english, 'ts')
    const cwd = JSON.stringify(join(repository, 'packages/app'))
    const output = node(['--input-type=module', '-e', (code as string).replace('process.cwd()', cwd)], { cwd: root })
    expect(output).toContain('packages/app/AGENTS.md loaded')
    expect(output).toContain('Instructions from: packages/app/AGENTS.md\n\nApp rules.')
  })
  it('the composition names this package', () => {
    expect(blocks(english, 'yaml').some(block => block.includes("name: '@deepseek-ai/dsh-agent-instructions'"))).toBe(true)
  })
})

describe('installing into an existing harness', () => {
  it('an npm override puts this package where the published one was', () => {
    const [override] = blocks(english, 'json')
    const { overrides } = JSON.parse(override as string) as { overrides: Record<string, string> }
    const name = Object.keys(overrides)[0] as string
    const artifacts = readdirSync(join(root, 'artifacts')).filter(file => file.endsWith('.tgz'))
    const tarball = (isRoot: boolean) => `file:${resolve(root, 'artifacts', artifacts.find(file => /instructions-\d/.test(file) === isRoot) as string)}`
    const project = join(repository, 'project')
    mkdirSync(join(project, 'harness'), { recursive: true })
    writeFileSync(join(project, 'harness/package.json'), JSON.stringify({ name: 'harness', version: '1.0.0', dependencies: { [name]: '^0.1.0-rc.8' } }))
    const platform = artifacts.find(file => !/instructions-\d/.test(file))?.replace(/^deepseek-ai-(.+)-\d+\.\d+\.\d+\.tgz$/, '@deepseek-ai/$1') as string
    writeFileSync(join(project, 'package.json'), JSON.stringify({
      private: true,
      dependencies: { harness: 'file:./harness', [platform]: tarball(false) },
      // Until it is published, the version that the README names is the tarball.
      overrides: { [name]: tarball(true) },
    }))
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--install-links'], { cwd: project, stdio: 'pipe', shell: process.platform === 'win32' })
    const installed = JSON.parse(readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }
    expect(installed.version).toBe(overrides[name])
    const report = `import('${name}').then(m => console.log(typeof m.inspectAgentInstructions))`
    expect(node(['-e', report], { cwd: project })).toBe('function\n')
  })
})

describe('the two languages are kept in step', () => {
  it.each(['console', 'json', 'yaml', 'ts'])('%s blocks', language => {
    const code = (text: string) => blocks(text, language).map(block => block.replace(/#.*$/gm, '').replace(/[ \t]+$/gm, ''))
    expect(code(chinese)).toEqual(code(english))
  })
  it('headings, tables and links', () => {
    const shape = (text: string) => ({
      headings: [...text.matchAll(/^#+/gm)].map(([level]) => level),
      rows: [...text.matchAll(/^\|/gm)].length,
      files: [...text.matchAll(/\]\((?!README)([^)]+)\)/g)].map(([, file]) => file).sort(),
    })
    expect(shape(chinese)).toEqual(shape(english))
  })
})
