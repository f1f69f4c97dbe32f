/**
 * Installs the real command line twice with pnpm: with the package as it is published,
 * and with the packed tarballs of this repository in its place. An install is kept and
 * reused until one of its inputs changes.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, delimiter, dirname, join, resolve } from 'node:path'

/** An installed command line. */
export interface Install {
  /** Entry file of `dsh`. */
  command: string
  /** The directory of the install. */
  directory: string
  /** Version of the instructions package that the command line resolves. */
  version: string
  /** Whether this call had to run pnpm. */
  isFresh: boolean
}

interface Manifest {
  version: string
  optionalDependencies?: Record<string, string>
}

// npm's own resolver does not finish on this dependency graph; pnpm's does.
const pnpm = 'pnpm@11.28.11'
const packageName = '@deepseek-ai/dsh-agent-instructions'
const tarballPattern = /^deepseek-ai-(dsh-agent-instructions(?:-[a-z0-9-]+?)?)-(\d+\.\d+\.\d+(?:-[\w.]+)?)\.tgz$/
const templates = join(import.meta.dirname, 'template')
const cache = join(import.meta.dirname, '..', '..', '.cache', 'dsh')

/**
 * Install the command line with the published package, exactly as the lock file says.
 * @returns the install.
 */
export function installPublished(): Install {
  return install('published', [], () => {}, ['--frozen-lockfile'])
}

/**
 * Install the command line with this repository's tarballs.
 * @param artifacts - directory that `npm run pack:local` filled.
 * @returns the install.
 */
export function installNative(artifacts: string): Install {
  const tarballs = findTarballs(artifacts)
  const root = tarballs.get(packageName)
  if (root === undefined) {
    throw new Error(`no tarball of ${packageName} in ${artifacts}; run \`npm run pack:local\` first`)
  }
  const manifest = readManifest(root)
  const platforms = Object.keys(manifest.optionalDependencies ?? {})
  if (!platforms.some((name) => tarballs.has(name))) {
    throw new Error(`no platform tarball beside ${basename(root)}; run \`npm run pack:local\` first`)
  }
  const overrides = [packageName, ...platforms].map((name) => {
    const tarball = tarballs.get(name)
    // `-` drops a dependency: binaries of other platforms need not be looked up anywhere.
    return `  '${name}': ${tarball === undefined ? "'-'" : `file:tarballs/${basename(tarball)}`}\n`
  })
  const install_ = install(
    'native',
    [...tarballs.values()],
    (directory) => {
      mkdirSync(join(directory, 'tarballs'))
      for (const tarball of tarballs.values()) copyFileSync(tarball, join(directory, 'tarballs', basename(tarball)))
      const workspace = join(directory, 'pnpm-workspace.yaml')
      writeFileSync(workspace, readFileSync(workspace, 'utf8') + overrides.join(''))
    },
    // The lock file still holds every other package to the published install's version.
    ['--no-frozen-lockfile'],
  )
  if (install_.version !== manifest.version) {
    throw new Error(`the native install resolves version ${install_.version} instead of ${manifest.version}`)
  }
  return install_
}

/** Run pnpm in a clean directory, unless the last install had the same inputs. */
function install(name: string, inputs: string[], prepare: (directory: string) => void, flags: string[]): Install {
  const directory = join(cache, name)
  const keyFile = join(directory, 'install-key')
  const files = readdirSync(templates).map((file) => join(templates, file))
  const hash = createHash('sha256').update(`${pnpm} ${process.platform} ${process.arch} ${process.version}`)
  // This file decides how a template is used, so it is an input as well.
  for (const file of [...files, import.meta.filename, ...inputs]) hash.update(basename(file)).update(readFileSync(file))
  const key = hash.digest('hex')
  const isFresh = !existsSync(keyFile) || readFileSync(keyFile, 'utf8') !== key
  if (isFresh) {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory, { recursive: true })
    for (const file of files) copyFileSync(file, join(directory, basename(file)))
    prepare(directory)
    runPnpm(directory, flags)
    writeFileSync(keyFile, key)
  }
  const command = join(realpathSync(join(directory, 'node_modules', '@deepseek-ai', 'dsh')), 'lib', 'bin.js')
  return { command, directory, version: resolvedVersion(command), isFresh }
}

function runPnpm(directory: string, flags: string[]): void {
  const result = spawnSync('npx', ['-y', pnpm, 'install', ...flags], {
    cwd: directory,
    encoding: 'utf8',
    // pnpm needs the newer Node as well.
    env: { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) },
    shell: process.platform === 'win32',
  })
  if (result.error !== undefined) throw result.error
  if (result.status !== 0) {
    throw new Error(`pnpm ended with ${result.status} in ${directory}\n${result.stdout}\n${result.stderr}`)
  }
}

/** Ask Node which instructions package the command line itself would load. */
function resolvedVersion(command: string): string {
  const file = createRequire(command).resolve(`${packageName}/package.json`)
  return (JSON.parse(readFileSync(file, 'utf8')) as Manifest).version
}

function findTarballs(artifacts: string): Map<string, string> {
  const found = new Map<string, string>()
  if (!existsSync(artifacts)) return found
  for (const file of readdirSync(artifacts).sort()) {
    const name = tarballPattern.exec(file)?.[1]
    if (name === undefined) continue
    const key = `@deepseek-ai/${name}`
    if (found.has(key)) throw new Error(`more than one tarball of ${key} in ${artifacts}; remove the older ones`)
    found.set(key, resolve(artifacts, file))
  }
  return found
}

function readManifest(tarball: string): Manifest {
  const result = spawnSync('tar', ['-xOzf', tarball, 'package/package.json'], { encoding: 'utf8' })
  if (result.error !== undefined) throw result.error
  if (result.status !== 0) throw new Error(`cannot read ${tarball}: ${result.stderr}`)
  return JSON.parse(result.stdout) as Manifest
}
