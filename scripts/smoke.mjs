// @ts-check
/**
 * `node scripts/smoke.mjs <directory of tarballs> [--platform linux-x64-gnu] [--node <binary>]...`: installs the
 * packed packages beside the host's, as a user would, and runs `smoke-check.mjs` there on this
 * Node or on those named. Needs nothing but Node and npm: a release tests its tarballs with it.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { platformPackages, readJson, root } from './manifest.mjs'
import { isMain } from './steps.mjs'

/** Longer than any check takes: what still runs then is a process that does not exit by itself. */
const PATIENCE = 60_000

/**
 * Install tarballs into a new project.
 * @param {string} tarballs - directory that holds them; platform packages that are not there are left out.
 * @returns {string} directory of the project; the caller removes it.
 */
export function installPacked(tarballs) {
  const { name, version, peerDependencies, devDependencies } = readJson(join(root, 'package.json'))
  const there = new Set(readdirSync(tarballs))
  /** @type {(name: string) => string} */
  const tarball = name => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  if (!there.has(tarball(name))) throw new Error(`${tarball(name)} is not in ${tarballs}`)
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'packed-install-')))
  const specifier = (/** @type {string} */ name) => pathToFileURL(join(resolve(tarballs), tarball(name))).href
  const platforms = platformPackages().map(({ manifest }) => manifest['name']).filter(name => there.has(tarball(name)))
  writeFileSync(join(project, 'package.json'), JSON.stringify({
    private: true,
    type: 'module',
    // The host's packages as this repository has them: the newest of each need not fit together.
    dependencies: { [name]: specifier(name), ...Object.fromEntries(Object.keys(peerDependencies).map(peer => [peer, devDependencies[peer]])) },
    // Nothing is published yet: what the root package asks the registry for is here.
    overrides: Object.fromEntries(platforms.map(name => [name, specifier(name)])),
  }))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: project, stdio: 'inherit', shell: process.platform === 'win32' })
  copyFileSync(fileURLToPath(new URL('smoke-check.mjs', import.meta.url)), join(project, 'smoke-check.mjs'))
  return project
}

/**
 * Run the check in a project.
 * @param {string} project - from `installPacked`.
 * @param {string} platform - whose addon must be the one that loads.
 * @param {string} [node] - the Node to run.
 * @returns {boolean} whether it passed and ended by itself.
 */
export function check(project, platform, node = process.execPath) {
  const { status, signal, error } = spawnSync(node, ['smoke-check.mjs', platform], { cwd: project, stdio: ['ignore', 'inherit', 'inherit'], timeout: PATIENCE })
  if (status !== 0) console.error(`${node}: ${error?.message ?? `ended with ${signal ?? status}`}`)
  return status === 0
}

if (isMain(import.meta.url)) {
  const { values, positionals: [tarballs] } = parseArgs({
    allowPositionals: true,
    options: { platform: { type: 'string' }, node: { type: 'string', multiple: true } },
  })
  if (tarballs === undefined) throw new Error('usage: smoke.mjs <directory of tarballs> [--platform <name>] [--node <binary>]...')
  const project = installPacked(tarballs)
  try {
    // The loader itself is asked only in a checkout that was built; a release says what it expects.
    const platform = values.platform ?? (await import('../lib/native.js')).platformName()
    const failed = (values.node ?? [process.execPath]).filter(node => !check(project, platform, node))
    process.exitCode = failed.length === 0 ? 0 : 1
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}
