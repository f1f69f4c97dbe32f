/**
 * The checks of packaging, each seen to fail: the real facts of this checkout agree, and every planted
 * disagreement is found and named.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { identify } from '../scripts/binary.mjs'
import { collectFacts, disagreements } from '../scripts/check-packages.mjs'
import type { Facts } from '../scripts/check-packages.mjs'
import { breaches } from '../scripts/check-policy.mjs'
import { atLeast, cargoTests, vitestTests } from '../scripts/ci.mjs'
import { platformPackages, publishedManifest, readJson, root } from '../scripts/manifest.mjs'
import { matchBinaries, stageRelease } from '../scripts/stage-release.mjs'

const facts = await collectFacts()

describe('what must agree', () => {
  it('agrees', () => {
    expect(disagreements(facts)).toEqual([])
  })

  const edit = (file: string, from: string | RegExp, to: string) => (planted: Facts) => {
    const text = planted.workflows[file] ?? ''
    planted.workflows[file] = text.replace(from, to)
    expect(planted.workflows[file]).not.toBe(text)
  }
  const platform = (name: string, change: (manifest: Record<string, unknown>) => void) => (planted: Facts) => {
    const found = planted.platforms.find(candidate => candidate.platform === name)
    if (found === undefined) throw new Error(`no ${name}`)
    change(found.manifest)
  }
  const cases: [title: string, plant: (planted: Facts) => void, told: RegExp][] = [
    ['a target without a folder', planted => { planted.platforms.pop() }, /list of npm\/ folders/],
    ['a folder without a target', planted => { planted.manifest['napi'].targets.pop() }, /list of npm\/ folders/],
    ['optional dependencies in the repository', planted => { planted.manifest['optionalDependencies'] = { x: '1' } }, /optionalDependencies of package\.json/],
    ['another package name for napi', planted => { planted.manifest['napi'].packageName = 'x' }, /napi\.packageName/],
    ['a platform version that lags', platform('darwin-x64', manifest => { manifest['version'] = '0.0.9' }), /version of npm\/darwin-x64/],
    ['a crate version that lags', planted => { planted.cargo = planted.cargo.replace(/^version = .*/m, 'version = "0.0.9"') }, /version of Cargo\.toml/],
    ['a crate lock that lags', planted => { planted.cargoLock = planted.cargoLock.replace(/(name = "dsh-agent-instructions"\s+version = ")[^"]+/, '$10.0.9') }, /version in Cargo\.lock/],
    ['a lock file that lags', planted => { planted.lock['packages'][''].version = '0.0.9' }, /packages\[""\]\.version/],
    ['a wrong platform name', platform('linux-x64-musl', manifest => { manifest['name'] = 'x' }), /name of npm\/linux-x64-musl/],
    ['a wrong binary name', platform('win32-x64-msvc', manifest => { manifest['main'] = 'x.node' }), /main of npm\/win32-x64-msvc/],
    ['a binary that is not packed', platform('win32-x64-msvc', manifest => { manifest['files'] = [] }), /files of npm\/win32-x64-msvc/],
    ['a wrong os', platform('darwin-arm64', manifest => { manifest['os'] = ['linux'] }), /os of npm\/darwin-arm64/],
    ['a wrong cpu', platform('darwin-arm64', manifest => { manifest['cpu'] = ['x64'] }), /cpu of npm\/darwin-arm64/],
    ['a wrong C library', platform('linux-arm64-musl', manifest => { manifest['libc'] = ['glibc'] }), /libc of npm\/linux-arm64-musl/],
    ['a C library where there is no choice', platform('darwin-x64', manifest => { manifest['libc'] = ['glibc'] }), /libc of npm\/darwin-x64/],
    ['other engines', platform('linux-x64-gnu', manifest => { manifest['engines'] = { node: '>=18' } }), /engines of npm\/linux-x64-gnu/],
    ['engines that CI does not start at', planted => { planted.manifest['engines'] = { node: '>=18' } }, /the oldest Node/],
    ['a loader that spells a platform otherwise', planted => { planted.loaderNames['aarch64-pc-windows-msvc'] = 'win32-arm64' }, /loader's name for aarch64-pc-windows-msvc/],
    ['a loader that asks for another package', planted => { planted.loaderSource = planted.loaderSource.replaceAll(planted.manifest['name'], 'x') }, /does not name '@deepseek-ai/],
    ['no release workflow', planted => { delete planted.workflows['release.yml'] }, /release\.yml is missing/],
    ['a target that is not built', edit('release.yml', /.*target: x86_64-apple-darwin.*\n/, ''), /targets that release\.yml builds/],
    ['a platform that is not tested', edit('release.yml', /.*name: linux-arm64-musl.*\n/, ''), /platforms that release\.yml tests/],
    ['a build on another system', edit('release.yml', 'aarch64-apple-darwin, os: macos-latest', 'aarch64-apple-darwin, os: ubuntu-latest'), /runner that builds aarch64-apple-darwin/],
    ['a glibc build without the old glibc', edit('release.yml', ', flags: --use-napi-cross', ''), /flags of the build of x86_64-unknown-linux-gnu/],
    ['a Node that CI forgets', edit('ci.yml', "'22', ", ''), /matrix\.node of ci\.yml/],
    ['a Node that the release forgets', edit('release.yml', "'22', ", ''), /matrix\.node of the tests of release\.yml/],
    ['a system that CI forgets', edit('ci.yml', ', windows-latest', ''), /systems of ci\.yml/],
    ['an action pinned by a tag', edit('ci.yml', /checkout@[0-9a-f]{40}/, 'checkout@v7'), /not pinned by a full commit/],
    ['a pin without its version', edit('ci.yml', / # v\d+\.\d+\.\d+/, ''), /not pinned by a full commit/],
    ['one action at two commits', edit('ci.yml', /checkout@[0-9a-f]{40}/, `checkout@${'0'.repeat(40)}`), /another commit/],
  ]
  it.each(cases)('tells of %s', (_title, plant, told) => {
    const planted = structuredClone(facts)
    plant(planted)
    expect(disagreements(planted).join('\n')).toMatch(told)
  })
})

describe('the published manifest', () => {
  const manifest = readJson(join(root, 'package.json'))
  const platforms = platformPackages().map(found => found.manifest)

  it('names every platform package at the exact version, and nothing that only the repository needs', () => {
    const published = publishedManifest(manifest, platforms, 'git+https://example.invalid/x.git')
    expect(Object.keys(published['optionalDependencies'])).toHaveLength(8)
    expect(new Set(Object.values(published['optionalDependencies']))).toEqual(new Set([manifest.version]))
    expect(published['repository'].url).toBe('git+https://example.invalid/x.git')
    for (const key of ['scripts', 'devDependencies', 'napi']) expect(published).not.toHaveProperty(key)
    for (const key of ['exports', 'files', 'engines', 'peerDependencies', 'dependencies']) expect(published[key]).toEqual(manifest[key])
  })
})

describe('staging a release', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'stage-release-'))
  afterAll(() => rmSync(scratch, { recursive: true, force: true }))
  const platforms = platformPackages()

  /** The first bytes of an addon, as far as they tell its platform. */
  function header(platform: string, glibc = '2.17'): Buffer {
    const bytes = Buffer.alloc(256)
    const arm = platform.includes('arm64')
    if (platform.startsWith('linux')) {
      bytes.writeUInt32BE(0x7f454c46, 0)
      bytes.writeUInt16LE(arm ? 0xb7 : 0x3e, 18)
      if (platform.endsWith('gnu')) bytes.write(`\0GLIBC_2.2.5\0GLIBC_${glibc}\0`, 64)
    } else if (platform.startsWith('darwin')) {
      bytes.writeUInt32LE(0xfeedfacf, 0)
      bytes.writeUInt32LE(arm ? 0x0100000c : 0x01000007, 4)
    } else {
      bytes.writeUInt16LE(0x5a4d, 0)
      bytes.writeUInt32LE(0x80, 0x3c)
      bytes.writeUInt32BE(0x50450000, 0x80)
      bytes.writeUInt16LE(arm ? 0xaa64 : 0x8664, 0x84)
    }
    return bytes
  }
  function artifacts(name: string, change: (files: Map<string, Buffer>) => void = () => {}): string {
    const directory = join(scratch, name)
    const files = new Map(platforms.map(({ platform, manifest }) => [join(`bindings-${platform}`, manifest['main'] as string), header(platform)]))
    change(files)
    for (const [file, bytes] of files) {
      mkdirSync(dirname(join(directory, file)), { recursive: true })
      writeFileSync(join(directory, file), bytes)
    }
    return directory
  }
  const at = (platform: string) => join(`bindings-${platform}`, `dsh-agent-instructions.${platform}.node`)

  it('knows the addon that was built here', () => {
    const { platform, manifest } = platforms.find(found => found.platform === facts.loaderNames['x86_64-unknown-linux-gnu']) ?? {}
    if (process.platform !== 'linux' || process.arch !== 'x64') return
    expect(identify(readFileSync(join(root, 'lib', manifest?.['main'] as string))).platform).toBe(platform)
  })

  it('lays out and packs every package, the root last', () => {
    const { binaries, refusals } = matchBinaries(artifacts('complete'), platforms)
    expect(refusals).toEqual([])
    const out = join(scratch, 'out')
    const lines = stageRelease(out, binaries, platforms, { repositoryUrl: 'git+https://example.invalid/x.git' })
    expect(lines).toHaveLength(9)
    expect(lines.at(-1)).toMatch(/^@deepseek-ai\/dsh-agent-instructions@\S+ latest deepseek-ai-dsh-agent-instructions-\d\S*\.tgz$/)
    expect(readJson(join(out, 'npm', 'darwin-x64', 'package.json')).repository.url).toBe('git+https://example.invalid/x.git')
    expect(Object.keys(readJson(join(out, 'root', 'package.json')).optionalDependencies)).toHaveLength(8)
    expect(readFileSync(join(out, 'tarballs', 'publish-order.txt'), 'utf8').trim().split('\n')).toEqual(lines)
  })

  const refused: [title: string, change: (files: Map<string, Buffer>) => void, told: RegExp][] = [
    ['a binary that is missing', files => { files.delete(at('darwin-x64')) }, /darwin-x64\.node is missing/],
    ['a binary that is there twice', files => { files.set(join('again', 'dsh-agent-instructions.darwin-x64.node'), header('darwin-x64')) }, /there twice/],
    ['a binary of no package', files => { files.set(join('more', 'dsh-agent-instructions.freebsd-x64.node'), header('linux-x64-musl')) }, /belongs to no platform package/],
    ['a binary for another processor', files => { files.set(at('darwin-x64'), header('darwin-arm64')) }, /is a binary for darwin-arm64/],
    ['a binary for another system', files => { files.set(at('win32-x64-msvc'), header('linux-x64-gnu')) }, /is a binary for linux-x64-gnu/],
    ['a glibc binary as a musl one', files => { files.set(at('linux-x64-musl'), header('linux-x64-gnu')) }, /is a binary for linux-x64-gnu/],
    ['a glibc that is too new', files => { files.set(at('linux-x64-gnu'), header('linux-x64-gnu', '2.34')) }, /needs glibc 2\.34, newer than 2\.17/],
    ['an empty file', files => { files.set(at('linux-x64-gnu'), Buffer.alloc(0)) }, /is a binary for unknown/],
  ]
  it.each(refused)('refuses %s', (title, change, told) => {
    expect(matchBinaries(artifacts(title, change), platforms).refusals.join('\n')).toMatch(told)
  })
})

describe('the dependency policy', () => {
  const real = { manifest: readJson(join(root, 'package.json')), lock: readJson(join(root, 'package-lock.json')), cargoLock: readFileSync(join(root, 'Cargo.lock'), 'utf8') }

  it('is kept', () => {
    expect(breaches(real)).toEqual([])
  })

  const cases: [title: string, plant: (planted: typeof real) => void, told: RegExp][] = [
    ['a second runtime dependency', ({ manifest }) => { manifest.dependencies.x = '1' }, /at run time on .*x/],
    ['an install script', ({ manifest }) => { manifest.scripts.postinstall = 'x' }, /on install: postinstall/],
    ['a git dependency', ({ manifest }) => { manifest.devDependencies.x = 'git+ssh://example.invalid/x.git' }, /takes x from git/],
    ['a dependency by repository name', ({ manifest }) => { manifest.devDependencies.x = 'owner/x' }, /takes x from owner\/x/],
    ['a path', ({ manifest }) => { manifest.devDependencies.x = 'file:../x' }, /takes x from file/],
    ['an address in the lock file', ({ lock }) => { lock.packages['node_modules/vitest'].resolved = 'https://example.invalid/x.tgz' }, /vitest has an address/],
    ['a lock entry without a hash', ({ lock }) => { delete lock.packages['node_modules/vitest'].integrity }, /vitest has no hash/],
    ['a git dependency of a dependency', ({ lock }) => { lock.packages['node_modules/vitest'].dependencies.x = 'github:owner/x' }, /takes x from github/],
    ['a crate from elsewhere', planted => { planted.cargoLock = planted.cargoLock.replace('registry+https://github.com/rust-lang/crates.io-index', 'git+https://example.invalid/x') }, /Cargo\.lock takes/],
  ]
  it.each(cases)('is broken by %s', (_title, plant, told) => {
    const planted = structuredClone(real)
    plant(planted)
    expect(breaches(planted).join('\n')).toMatch(told)
  })
})

describe('the count of all checks', () => {
  const green = 'test result: ok. 12 passed; 0 failed; 1 ignored\ntest result: ok. 3 passed; 0 failed; 0 ignored\n'
  it('adds up cargo\'s test binaries', () => {
    expect(cargoTests({ passed: true, output: green })).toEqual({ passed: 15, failed: 0 })
    expect(cargoTests({ passed: false, output: `${green}test result: FAILED. 1 passed; 2 failed; 0 ignored` })).toEqual({ passed: 16, failed: 2 })
  })
  it('is a failure when nothing ran, or when a runner failed without a failed test', () => {
    expect(cargoTests({ passed: true, output: 'error: no such command' })).toEqual({ passed: 0, failed: 1 })
    expect(vitestTests({ passed: true, output: '' }, undefined)).toEqual({ passed: 0, failed: 1 })
    expect(atLeast({ passed: false, output: '' }, { passed: 9, failed: 0 })).toEqual({ passed: 9, failed: 1 })
  })
})
