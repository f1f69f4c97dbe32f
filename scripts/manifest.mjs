// @ts-check
/**
 * What a published package holds. The repository's package.json names no platform
 * package: they would have to exist on the registry before a fresh clone could install
 * its dependencies. Whoever packs writes them, at the exact version, into the manifest
 * that is published: `pack:local` those that it packs, a release all of them.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @typedef {Record<string, any>} Manifest */
/** @typedef {{ platform: string, manifest: Manifest }} PlatformPackage */

/** Directory of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Read a JSON file.
 * @param {string} path
 * @returns {any} its value.
 */
export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/**
 * The platform packages, one for each folder of npm/.
 * @param {string} [repository]
 * @returns {PlatformPackage[]} in the order of their names.
 */
export function platformPackages(repository = root) {
  return readdirSync(join(repository, 'npm'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => ({ platform: name, manifest: readJson(join(repository, 'npm', name, 'package.json')) }))
    .sort((a, b) => (a.platform < b.platform ? -1 : 1))
}

/**
 * The root package.json as it is published: without what only the repository needs.
 * @param {Manifest} manifest - as it stands in the repository.
 * @param {Manifest[]} platforms - manifests of the platform packages to name.
 * @param {string} [repositoryUrl] - where the sources are; provenance is refused without it.
 * @returns {Manifest}
 */
export function publishedManifest(manifest, platforms, repositoryUrl) {
  const { scripts: _scripts, devDependencies: _dev, napi: _napi, ...published } = manifest
  published.optionalDependencies = Object.fromEntries(platforms.map(({ name, version }) => [name, version]))
  return withRepository(published, repositoryUrl)
}

/**
 * @param {Manifest} manifest
 * @param {string | undefined} url
 */
function withRepository(manifest, url) {
  return url === undefined ? manifest : { ...manifest, repository: { type: 'git', url } }
}

/**
 * Lay out the root package.
 * @param {string} directory - receives the package; made when absent.
 * @param {Manifest[]} platforms - manifests of the platform packages to name.
 * @param {{ repository?: string, repositoryUrl?: string }} [options]
 */
export function stageRoot(directory, platforms, { repository = root, repositoryUrl } = {}) {
  const manifest = readJson(join(repository, 'package.json'))
  if (!existsSync(join(repository, manifest.main))) throw new Error(`${manifest.main} is missing: run \`npm run build\` first`)
  mkdirSync(directory, { recursive: true })
  // npm itself applies the `files` list; here its top-level names are enough. The binary belongs to the platform packages.
  const names = new Set(['README.md', 'LICENSE', ...manifest.files.map((/** @type {string} */ pattern) => pattern.split('/')[0])])
  for (const name of names) {
    const source = join(repository, name)
    if (existsSync(source)) cpSync(source, join(directory, name), { recursive: true, filter: path => !/(\.node|-stamp)$/.test(path) })
  }
  writeManifest(directory, publishedManifest(manifest, platforms, repositoryUrl))
}

/**
 * Lay out one platform package.
 * @param {string} directory - receives the package; made when absent.
 * @param {PlatformPackage} platformPackage
 * @param {string} binary - the built addon.
 * @param {{ repository?: string, repositoryUrl?: string }} [options]
 */
export function stagePlatform(directory, { platform, manifest }, binary, { repository = root, repositoryUrl } = {}) {
  cpSync(join(repository, 'npm', platform), directory, { recursive: true })
  copyFileSync(join(repository, 'LICENSE'), join(directory, 'LICENSE'))
  copyFileSync(binary, join(directory, manifest['main']))
  writeManifest(directory, withRepository(manifest, repositoryUrl))
}

/**
 * @param {string} directory
 * @param {Manifest} manifest
 */
function writeManifest(directory, manifest) {
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

/**
 * Run `npm pack` on a staged package.
 * @param {string} directory - the package.
 * @param {string} destination - receives the tarball; made when absent.
 * @returns {string} file name of the tarball.
 */
export function pack(directory, destination) {
  mkdirSync(destination, { recursive: true })
  // `shell` lets Windows find npm.cmd; the only free text here is quoted for it.
  const windows = process.platform === 'win32'
  const target = windows ? `"${destination}"` : destination
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', target], { cwd: directory, encoding: 'utf8', shell: windows })
  const [{ filename }] = JSON.parse(output)
  return filename
}
