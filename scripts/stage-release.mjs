// @ts-check
/**
 * `node scripts/stage-release.mjs <directory of .node files> --out <directory>`: lays out and packs all that a
 * release publishes, or refuses. Below --out: `root` and `npm/<platform>`, and `tarballs` with
 * a list of them in the order of publishing. `--tag v1.2.3` must name the version;
 * `--source <url>` becomes the `repository` that a provenance statement is checked against.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { compareVersions, identify } from './binary.mjs'
import { collectFacts, disagreements } from './check-packages.mjs'
import { pack, platformPackages, readJson, root, stagePlatform, stageRoot } from './manifest.mjs'
import { isMain } from './steps.mjs'

/** The C library of the oldest Linux systems that are supported. */
const GLIBC = '2.17'

/**
 * Match the built addons with the platform packages.
 * @param {string} directory - holds the `.node` files, at any depth.
 * @param {import('./manifest.mjs').PlatformPackage[]} platforms
 * @returns {{ binaries: Map<string, string>, refusals: string[] }} the addon of each platform, and why they cannot be published.
 */
export function matchBinaries(directory, platforms) {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.node')).sort()
  const refusals = /** @type {string[]} */ ([])
  const binaries = /** @type {Map<string, string>} */ (new Map())
  const expected = new Map(platforms.map(({ platform, manifest }) => [manifest['main'], platform]))
  for (const file of files) {
    const platform = expected.get(basename(file))
    if (platform === undefined) refusals.push(`${file} belongs to no platform package`)
    else if (binaries.has(platform)) refusals.push(`${file} is there twice`)
    else {
      binaries.set(platform, join(directory, file))
      const actual = identify(readFileSync(join(directory, file)))
      if (actual.platform !== platform) refusals.push(`${file} is a binary for ${actual.platform}`)
      else if (actual.glibc !== undefined && compareVersions(actual.glibc, GLIBC) > 0) {
        refusals.push(`${file} needs glibc ${actual.glibc}, newer than ${GLIBC}`)
      }
    }
  }
  for (const [file, platform] of expected) if (!binaries.has(platform)) refusals.push(`${file} is missing`)
  return { binaries, refusals }
}

/**
 * Lay out and pack every package.
 * @param {string} out - made anew.
 * @param {Map<string, string>} binaries - the addon of each platform.
 * @param {import('./manifest.mjs').PlatformPackage[]} platforms
 * @param {{ repository?: string, repositoryUrl?: string | undefined }} options
 * @returns {string[]} one line per package in the order of publishing: name and version, dist-tag, tarball.
 */
export function stageRelease(out, binaries, platforms, { repository = root, repositoryUrl } = {}) {
  const options = { repository, ...(repositoryUrl !== undefined && { repositoryUrl }) }
  rmSync(out, { recursive: true, force: true })
  const directories = platforms.map(platformPackage => {
    const directory = join(out, 'npm', platformPackage.platform)
    mkdirSync(directory, { recursive: true })
    stagePlatform(directory, platformPackage, /** @type {string} */ (binaries.get(platformPackage.platform)), options)
    return directory
  })
  // Last, so that it is never installable before its binaries are.
  directories.push(join(out, 'root'))
  stageRoot(join(out, 'root'), platforms.map(({ manifest }) => manifest), options)
  const tarballs = join(out, 'tarballs')
  const lines = directories.map(directory => {
    const { name, version } = readJson(join(directory, 'package.json'))
    return `${name}@${version} ${version.includes('-') ? 'next' : 'latest'} ${pack(directory, tarballs)}`
  })
  writeFileSync(join(tarballs, 'publish-order.txt'), `${lines.join('\n')}\n`)
  return lines
}

async function main() {
  const { values, positionals: [directory] } = parseArgs({
    allowPositionals: true,
    options: { out: { type: 'string' }, tag: { type: 'string' }, source: { type: 'string' } },
  })
  if (directory === undefined || values.out === undefined) throw new Error('usage: stage-release.mjs <directory of .node files> --out <directory> [--tag v1.2.3] [--source <url>]')
  if (!existsSync(directory)) throw new Error(`${directory} does not exist`)
  const platforms = platformPackages()
  const { version } = readJson(join(root, 'package.json'))
  const { binaries, refusals } = matchBinaries(resolve(directory), platforms)
  refusals.push(...disagreements(await collectFacts()))
  // An empty tag is a run that publishes nothing.
  if (values.tag && values.tag !== `v${version}`) refusals.push(`the tag is ${values.tag}, and the packages are at ${version}`)
  if (refusals.length > 0) {
    for (const refusal of refusals) console.error(refusal)
    console.error(`nothing was staged: ${refusals.length} reasons`)
    process.exitCode = 1
    return
  }
  for (const line of stageRelease(resolve(values.out), binaries, platforms, { repositoryUrl: values.source })) console.log(line)
}

if (isMain(import.meta.url)) await main()
