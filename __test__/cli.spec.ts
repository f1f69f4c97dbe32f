/**
 * The command line, run as a process of its own: what it prints, how it looks, and what it tells a script.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspectAgentInstructions } from '@deepseek-ai/dsh-agent-instructions'
import type { InstructionInspection } from '@deepseek-ai/dsh-agent-instructions'
import { displayWidth, shorten } from '../src-js/cli-table.ts'

const cli = fileURLToPath(new URL('../lib/cli.js', import.meta.url))
const top = realpathSync(mkdtempSync(join(tmpdir(), 'cli-')))
const windows = process.platform === 'win32'
afterAll(() => rmSync(top, { recursive: true }))

/** An empty project of its own for each test, or one with these files. */
let projects = 0
function project(files: Record<string, string> = {}): string {
  const directory = join(top, `p${++projects}`)
  for (const [path, content] of Object.entries({ '.git/HEAD': '', ...files })) write(join(directory, path), content)
  return directory
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

interface Run {
  status: number | null
  stdout: string
  stderr: string
}

const home = join(top, 'home')

/** The program of util-linux that runs another one on a terminal. */
const terminal = 'script'

function hasTerminal(): boolean {
  return process.platform === 'linux' && spawnSync(terminal, ['--version']).status === 0
}

function run(args: readonly string[], { cwd = top, env = {} }: { cwd?: string, env?: Record<string, string> } = {}): Run {
  const { FORCE_COLOR: _, NO_COLOR: __, COLUMNS: ___, ...inherited } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { cwd, encoding: 'utf8', env: { ...inherited, DSH_HOME: home, ...env } })
  return { status, stdout, stderr }
}

function inspection(args: readonly string[]): InstructionInspection {
  return JSON.parse(run([...args, '--json']).stdout) as InstructionInspection
}

/** What a mistake must come to: its explanation, and nothing else. */
function mistake(...words: string[]): unknown {
  return {
    status: 1,
    stdout: '',
    stderr: expect.toSatisfy((text: string) => words.every(word => text.includes(word)) && /^error: .*\n$/.test(text), words.join(' … ')),
  }
}

describe('what is printed', () => {
  const files = { 'AGENTS.md': 'root', 'CLAUDE.md': 'root', 'app/AGENTS.local.md': '名前\n', 'app/sub/AGENTS.md': 'nested' }

  it('--json is the inspection', async () => {
    const cwd = join(project(files), 'app')
    const options = { cwd, dshHome: home, maxBytes: 65_536, touch: 'sub/x' }
    const { status, stdout, stderr } = run([cwd, '--touch', 'sub/x', '--json'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual(await inspectAgentInstructions(options))
  })

  it('--render is the text of the model, and nothing else', async () => {
    const cwd = join(project(files), 'app')
    const { rendered } = await inspectAgentInstructions({ cwd, dshHome: home, maxBytes: 65_536, touch: 'sub/x' })
    expect(rendered).toHaveLength(2)
    expect(run([cwd, '--render'])).toEqual({ status: 0, stdout: rendered[0], stderr: '' })
    expect(run([cwd, '--render', '--touch', 'sub/x'])).toEqual({ status: 0, stdout: rendered.join('\n'), stderr: '' })
    expect(run([project(), '--render'])).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it('the directory is the current one unless another is named, also relatively', () => {
    const directory = project(files)
    const cwdOf = (args: string[], cwd: string) => (JSON.parse(run([...args, '--json'], { cwd }).stdout) as InstructionInspection).cwd
    expect(cwdOf([], directory)).toBe(directory)
    expect(cwdOf(['app'], directory)).toBe(join(directory, 'app'))
  })

  it('the table lists what is there, counts what is not, and lists that too with --all', () => {
    const directory = project(files)
    const { stdout } = run([join(directory, 'app'), '--touch', 'sub/x'])
    expect(stdout).toContain(`Session       ${join(directory, 'app')}\nProject root  ${directory}\nHome          ${home}\n`)
    expect(stdout).toMatch(/^loaded +AGENTS\.md +4 +0\.1%$/m)
    expect(stdout).toMatch(/^duplicate +CLAUDE\.md +4 +same text as AGENTS\.md beside it$/m)
    expect(stdout).toMatch(/^Touching sub\/x adds\nloaded +app\/sub\/AGENTS\.md +6 +0\.\d%$/m)
    expect(stdout).toContain('9 candidates are absent; --all lists them.')
    expect(stdout).toMatch(/^Baseline +█+░+ +\d+ of 65,536 bytes, \d\.\d%\nTouch +█░+ +\d+ of 65,536 bytes, 0\.\d%$/m)
    expect(stdout).toContain('4 files: 3 loaded, 1 duplicate; 9 absent.')
    const all = run([join(directory, 'app'), '--all']).stdout
    expect(all.match(/^absent +\S+$/gm)).toHaveLength(6)
    expect(all).not.toContain('--all')
  })

  it('a touch that adds nothing says why', () => {
    const directory = project({ 'sub/x': '' })
    expect(run([directory, '--touch', 'sub/x']).stdout).toContain('Touching sub/x adds nothing\n')
    expect(run([directory, '--touch', 'x']).stdout).toContain('Touching x adds nothing: only directories below')
  })

  it('what the budget leaves out comes with the least budget that would not', () => {
    const directory = project({ 'AGENTS.md': 'x'.repeat(3000), 'app/AGENTS.md': 'y'.repeat(3000) })
    const cwd = join(directory, 'app')
    const { stdout } = run([cwd, '--max-bytes', '2000'])
    expect(stdout).toMatch(/^omitted +AGENTS\.md +3,000 +no room in the budget$/m)
    expect(stdout).toMatch(/^truncated +app\/AGENTS\.md +3,000 +\d\d\.\d% +cut from 3,000 to 1,\d{3} bytes$/m)
    expect(stdout).toMatch(/█{40} +2,000 of 2,000 bytes, 100\.0%/)
    const needed = /With maxBytes ([\d,]+) nothing would be left out or cut\./.exec(stdout)?.[1]?.replaceAll(',', '') as string
    expect(run([cwd, '--max-bytes', needed]).status).toBe(0)
    expect(run([cwd, '--max-bytes', String(Number(needed) - 1)]).status).toBe(2)
  })

  it('a name that would steer the terminal is shown, not obeyed', { skip: windows }, () => {
    const directory = project({ 'a\u001b[2J\n\u202eb/AGENTS.md': 'text' })
    const { stdout } = run([join(directory, 'a\u001b[2J\n\u202eb')])
    expect(stdout).toContain('a\\u{1b}[2J\\n\\u{202e}b/AGENTS.md')
    expect(stdout).not.toMatch(/[\u001b\u202e]/)
  })

  it('whoever closes the pipe early is not told of it', { skip: windows }, () => {
    const directory = project({ 'AGENTS.md': 'x'.repeat(500_000) })
    const command = `"${process.execPath}" "${cli}" "${directory}" --max-bytes 1000000 --render | head -c 10`
    expect(spawnSync('sh', ['-c', command], { encoding: 'utf8' })).toMatchObject({ stdout: '<system-re', stderr: '' })
  })
})

describe('exit codes', () => {
  const status = (directory: string, ...args: string[]) => run([directory, ...args]).status

  it('0: nothing is there, or all of it is loaded', () => {
    expect(status(project())).toBe(0)
    expect(status(project({ 'AGENTS.md': 'text', 'CLAUDE.md': 'text', 'CLAUDE.local.md': '' }))).toBe(0)
  })

  it('2: something is there that is not loaded whole, whatever is printed', () => {
    const long = 'x'.repeat(5000)
    expect(status(project({ 'AGENTS.md': long }), '--max-bytes', '1000')).toBe(2)
    expect(status(project({ 'AGENTS.md': long, 'CLAUDE.local.md': 'y' }), '--max-bytes', '1000', '--json')).toBe(2)
    expect(status(project({ 'AGENTS.md': long }), '--max-source-bytes', '1000', '--render')).toBe(2)
    expect(status(project({ 'AGENTS.md': 'text' }), '--max-bytes', '0')).toBe(2)
    expect(status(project({ 'AGENTS.md/x': '' }))).toBe(2)
    for (const target of ['nowhere', 'AGENTS.md']) {
      const directory = project()
      symlinkSync(target, join(directory, 'AGENTS.md'))
      expect(status(directory), target).toBe(2)
    }
    expect(status(project({ 'sub/AGENTS.md': long }), '--max-bytes', '1000')).toBe(0)
    expect(status(project({ 'sub/AGENTS.md': long }), '--max-bytes', '1000', '--touch', 'sub/x')).toBe(2)
  })

  it('1: a mistake, explained on the other stream in one line', () => {
    const directory = project({ 'AGENTS.md': 'text' })
    expect(run([join(directory, 'nowhere')])).toEqual(mistake('there is no directory', 'nowhere'))
    expect(run([join(directory, 'AGENTS.md')])).toEqual(mistake('AGENTS.md is not a directory'))
    expect(run(['--unknown'])).toEqual(mistake('--unknown'))
    expect(run(['one', 'two'])).toEqual(mistake('argument'))
    expect(run(['--json', '--render'])).toEqual(mistake('--json', '--render'))
    expect(run(['--max-bytes'])).toEqual(mistake('--max-bytes'))
    expect(run(['--max-bytes', 'much'])).toEqual(mistake('--max-bytes expected number but got "much"'))
    expect(run(['--max-bytes', ''])).toEqual(mistake('--max-bytes'))
    expect(run(['--max-source-bytes', '1.5'])).toEqual(mistake('--max-source-bytes expected', '1.5'))
    expect(run(['--max-source-bytes', '0'])).toEqual(mistake('--max-source-bytes expected', '0'))
  })

  it('are explained by --help, together with the default budget', () => {
    const { status, stdout, stderr } = run(['--help'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/\nExit codes:\n {2}0 [^]*\n {2}1 [^]*\n {2}2 /)
    expect(stdout).toMatch(/--max-bytes <number>\s+UTF-8 bytes of one message\s+\(default: 65536\)/)
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
    expect(run(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('configuration', () => {
  let directory: string
  beforeAll(() => {
    directory = project({ 'AGENTS.md': 'text', 'x/AGENTS.md': 'marked', 'x/.root': '', 'x/RULES.md': 'rules', 'x/MORE.md': 'more', 'x/RULES.local.md': 'mine' })
  })
  const loaded = (...args: string[]) => inspection([join(directory, 'x'), ...args]).files
    .filter(file => file.state === 'loaded').map(file => file.displayPath)

  it('every option of the plugin is a flag', () => {
    expect(loaded()).toEqual(['AGENTS.md', 'x/AGENTS.md'])
    expect(loaded('--project-root-markers', '.hg,.root')).toEqual(['AGENTS.md'])
    expect(loaded('--project-root-markers', '.hg', '--project-root-markers', '.root')).toEqual(['AGENTS.md'])
    expect(loaded('--project-root-markers', '')).toEqual(['AGENTS.md'])
    expect(loaded('--instruction-file-candidates', 'RULES.md,MORE.md')).toEqual(['x/RULES.md', 'x/MORE.md'])
    expect(loaded('--local-instruction-file-candidates', 'RULES.local.md')).toEqual(['AGENTS.md', 'x/AGENTS.md', 'x/RULES.local.md'])
    expect(loaded('--dsh-home', join(directory, 'x'))).toEqual(['$DSH_HOME/AGENTS.md', 'AGENTS.md'])
    expect(loaded('--max-bytes', '0')).toEqual([])
    expect(loaded('--max-source-bytes', '4')).toEqual(['AGENTS.md'])
    expect(inspection([directory])).toMatchObject({ maxBytes: 65_536, maxSourceBytes: 1_048_576, dshHome: home })
  })

  function composition(text: string, name = 'cordis.yml'): string {
    const file = join(project(), name)
    writeFileSync(file, text)
    return file
  }
  const from = (text: string, ...args: string[]) => inspection([directory, '--config', composition(text), ...args]).maxBytes
  const wrong = (text: string, ...args: string[]) => run([directory, '--config', composition(text), ...args])

  it('is taken from a composition, wherever the entry stands in it, unless a flag says otherwise', () => {
    const entry = '{ id: i, name: "@deepseek-ai/dsh-agent-instructions", config: { maxBytes: 11 } }'
    expect(from(`- ${entry}`)).toBe(11)
    expect(from('- name: agent-instructions\n  config:\n    maxBytes: 12\n')).toBe(12)
    expect(from(`- name: other\n  config: { maxBytes: 1 }\n- name: group\n  group: true\n  config: [{ name: inner, config: [${entry}] }]`)).toBe(11)
    expect(from(`[${entry.replace(/(\w+):/g, '"$1":').replace(': i', ': "i"')}]`)).toBe(11)
    expect(from(`- ${entry}`, '--max-bytes', '13')).toBe(13)
    expect(from('- name: agent-instructions', '--max-bytes', '13')).toBe(13)
    const file = composition('- { name: agent-instructions, config: { maxBytes: 1000, instructionFileCandidates: [RULES.md] } }')
    expect(loaded('--config', file)).toEqual(['x/RULES.md'])
    expect(loaded('--config', file, '--instruction-file-candidates', 'MORE.md')).toEqual(['x/MORE.md'])
  })

  it('is taken from a list of patches, the last of which counts', () => {
    const inserted = '- insert:\n  - { id: agent-instructions, name: "@deepseek-ai/dsh-agent-instructions", config: { maxBytes: 11 } }\n'
    expect(from(inserted)).toBe(11)
    expect(from(`${inserted}- { id: agent-instructions, config: { maxBytes: 12 } }\n- { id: other, config: { maxBytes: 13 } }`)).toBe(12)
    expect(from('- { id: agent-instructions, config: { maxBytes: 12 } }')).toBe(12)
    expect(wrong(`${inserted}- { id: agent-instructions, disabled: true }`)).toEqual(mistake('cordis.yml', 'is disabled'))
    expect(from('- { name: agent-instructions, disabled: true, config: { maxBytes: 1 } }\n- { name: agent-instructions, config: { maxBytes: 2 } }')).toBe(2)
  })

  it('is explained when it is wrong: by file, key and what was expected', () => {
    const missing = join(top, 'nowhere.yml')
    expect(run([directory, '--config', missing])).toEqual(mistake('cannot read the composition', missing, 'ENOENT'))
    expect(wrong('- a: [')).toEqual(mistake('cordis.yml is not valid YAML'))
    expect(wrong('')).toEqual(mistake('cordis.yml holds nothing', 'expected a list of entries', '@deepseek-ai/dsh-agent-instructions'))
    expect(wrong('maxBytes: 1')).toEqual(mistake('cordis.yml holds an object', 'expected a list of entries'))
    expect(wrong('- name: other')).toEqual(mistake('cordis.yml has no entry', '@deepseek-ai/dsh-agent-instructions'))
    expect(wrong('- { name: agent-instructions, config: 5 }')).toEqual(mistake('cordis.yml', 'is a number', 'maxBytes: 65536'))
    expect(wrong('- name: agent-instructions')).toEqual(mistake('cordis.yml: maxBytes missing required value'))
    expect(wrong('- { name: agent-instructions, config: { maxBytes: many } }')).toEqual(mistake('cordis.yml: maxBytes expected number but got many'))
    expect(wrong('- { name: agent-instructions, config: { maxBytes: 1, projectRootMarkers: [1] } }')).toEqual(mistake('cordis.yml: projectRootMarkers[0] expected string'))
    expect(wrong('- { name: agent-instructions, config: { maxBytes: many } }', '--max-bytes', 'much')).toEqual(mistake('--max-bytes expected number'))
  })

  it('that only the host can compute has to be given as a flag', () => {
    const text = '- name: agent-instructions\n  config:\n    maxBytes: 9\n    dshHome: !!js dshHomePath()\n'
    expect(wrong(text)).toEqual(mistake('cordis.yml: dshHome', '!!js dshHomePath()', '--dsh-home'))
    expect(from(text, '--dsh-home', home)).toBe(9)
    expect(wrong('- name: agent-instructions\n  config:\n    maxBytes: 9\n    projectRootMarkers: [!!js marker]\n')).toEqual(mistake('--project-root-markers'))
  })
})

describe('on a screen', () => {
  let directory: string
  beforeAll(() => {
    const deep = `${'a-directory-with-a-long-name/'.repeat(6)}文档说明目录/付款`
    directory = project({
      'AGENTS.md': 'x'.repeat(70_000),
      'CLAUDE.md': 'x'.repeat(70_000),
      [`${deep}/AGENTS.md`]: 'text',
      [`${deep}/CLAUDE.md`]: 'text',
      [`${deep}/👩‍👩‍👧é/CLAUDE.local.md`]: 'x'.repeat(2_000_000),
      'a-directory-with-a-long-name/AGENTS.md/x': '',
    })
    directory = join(directory, deep)
  })
  const table = (width: number, ...args: string[]) => run([directory, '--touch', '👩‍👩‍👧é/x', ...args], { env: { COLUMNS: String(width) } }).stdout

  it.each([40, 60, 80, 100, 120, 200])('of %i columns no line is wider', width => {
    const lines = [...table(width).split('\n'), ...table(width, '--all').split('\n'), ...table(width, '--max-bytes', '0').split('\n')]
    for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width)
    expect(lines.every(line => line === line.trimEnd())).toBe(true)
  })

  it.each([80, 120])('of %i columns the columns stand straight and no row is lost', width => {
    const lines = table(width).split('\n')
    const heading = lines.find(line => line.startsWith('STATE')) as string
    const end = heading.indexOf('BYTES') + 'BYTES'.length
    const rows = lines.filter(line => /^(loaded|omitted|duplicate|oversized) /.test(line))
    expect(rows).toHaveLength(5)
    for (const row of rows) {
      const before = row.slice(0, row.search(/(?<=\d) {2}|(?<=\d)$|(?<=\d) *$/))
      expect(displayWidth(before), row).toBe(end)
    }
    // The end of a path tells most.
    expect(rows.filter(row => /…\S*\/(AGENTS|CLAUDE|CLAUDE\.local)\.md/.test(row))).toHaveLength(3)
    expect(heading.includes('NOTE')).toBe(width === 120)
    expect(table(width)).toMatch(/a directory, not a file/)
  })

  it('that does not tell its width there is room for whole paths', () => {
    expect(Math.max(...run([directory]).stdout.split('\n').map(displayWidth))).toBeGreaterThan(100)
  })

  it('colours are for a terminal, and for whoever insists', () => {
    const hasColors = (args: string[], env: Record<string, string> = {}) => run([directory, ...args], { env }).stdout.includes('\u001b[')
    expect(hasColors([])).toBe(false)
    expect(hasColors([], { FORCE_COLOR: '1' })).toBe(true)
    expect(hasColors([], { FORCE_COLOR: '0' })).toBe(false)
    expect(hasColors(['--no-color'], { FORCE_COLOR: '1' })).toBe(false)
    expect(hasColors(['--json'], { FORCE_COLOR: '1' })).toBe(false)
    const plain = run([directory]).stdout
    expect(run([directory], { env: { FORCE_COLOR: '1' } }).stdout.replaceAll(/\u001b\[\d+m/g, '')).toBe(plain)
  })

  it('that is a real terminal there are colours, unless they are not wanted', { skip: !hasTerminal() }, () => {
    const onTerminal = (prefix: string, ...args: string[]) => {
      const command = `env -u FORCE_COLOR -u NO_COLOR TERM=xterm ${prefix} "${process.execPath}" "${cli}" "${top}" ${args.join(' ')}`
      return execFileSync(terminal, ['-qec', command, '/dev/null'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    }
    expect(onTerminal('')).toContain('\u001b[1m')
    for (const plain of [onTerminal('NO_COLOR=1'), onTerminal('TERM=dumb'), onTerminal('', '--no-color')]) {
      expect(plain).toContain('Session')
      expect(plain).not.toContain('\u001b[')
    }
  })
})


describe('text on a terminal', () => {
  it.each([['plain', 5], ['', 0], ['文档', 4], ['é', 1], ['ｆｕｌｌ', 8], ['한글', 4], ['👩‍👩‍👧', 2], ['❤️', 2], ['…', 1], ['█░', 2], ['ﾊﾝｶｸ', 4]])('%s takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  it('is shortened in the middle, by whole characters', () => {
    expect(shorten('short', 5)).toBe('short')
    expect(shorten('packages/app/AGENTS.md', 16)).toBe('packa…/AGENTS.md')
    for (let width = 1; width < 30; width++) {
      for (const text of ['文档说明目录/付款网关/AGENTS.md', '👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 'éééééééééééééééééééééééééééééééé']) {
        const short = shorten(text, width)
        expect(displayWidth(short)).toBeLessThanOrEqual(width)
        const [head, tail] = short.split('…') as [string, string]
        expect(text.startsWith(head) && text.endsWith(tail ?? '')).toBe(true)
      }
    }
  })
})
