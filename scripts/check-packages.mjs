// @ts-check
/**
 * `npm run check:packages`: the release matrix, the folders of npm/, `napi.targets`,
 * the loader and every version and field that must be the same in more than one place.
 * A platform that one of them forgets would be published without a binary, or built
 * and never loaded.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseTriple } from '@napi-rs/cli'
import { parse } from 'yaml'
import { platformPackages, readJson, root } from './manifest.mjs'
import { isMain } from './steps.mjs'

/** @typedef {import('./manifest.mjs').Manifest} Manifest */
/**
 * @typedef {object} Facts
 * @property {Manifest} manifest - package.json.
 * @property {Manifest} lock - package-lock.json.
 * @property {string} cargo - text of Cargo.toml.
 * @property {string} cargoLock - text of Cargo.lock.
 * @property {import('./manifest.mjs').PlatformPackage[]} platforms - folders of npm/.
 * @property {Record<string, string>} workflows - texts of .github/workflows, by file name.
 * @property {Record<string, string>} loaderNames - what the loader calls the platform of each target.
 * @property {string} loaderSource - text of src-js/native.ts.
 */

const NODES = ['20', '22', '24', 'latest']
const RUNNERS = { linux: 'ubuntu-', darwin: 'macos-', win32: 'windows-' }
const LIBC = /** @type {Record<string, string>} */ ({ gnu: 'glibc', musl: 'musl' })

/**
 * Compare all that must agree.
 * @param {Facts} facts
 * @returns {string[]} one sentence for each disagreement.
 */
export function disagreements(facts) {
  const found = /** @type {string[]} */ ([])
  /** @type {(where: string, actual: unknown, expected: unknown) => void} */
  const same = (where, actual, expected) => {
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      found.push(`${where} is ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
    }
  }
  const { manifest, platforms } = facts
  const targets = manifest['napi'].targets.map((/** @type {string} */ triple) => ({ triple, ...named(triple) }))
  const names = targets.map((/** @type {{ name: string }} */ { name }) => name).sort()

  same('the list of npm/ folders', platforms.map(({ platform }) => platform), names)
  same('napi.packageName', manifest['napi'].packageName, manifest['name'])
  same('optionalDependencies of package.json', manifest['optionalDependencies'], undefined)
  versions(facts, same)
  for (const { triple, name, os, cpu, libc } of targets) {
    same(`the loader's name for ${triple}`, facts.loaderNames[triple], name)
    const found = platforms.find(({ platform }) => platform === name)
    if (found !== undefined) platformFields(`npm/${name}/package.json`, found.manifest, { manifest, name, os, cpu, libc }, same)
  }
  for (const literal of [manifest['napi'].binaryName, manifest['name']]) {
    if (!facts.loaderSource.includes(`'${literal}'`)) found.push(`src-js/native.ts does not name '${literal}'`)
  }
  for (const file of ['ci.yml', 'release.yml']) if (facts.workflows[file] === undefined) found.push(`.github/workflows/${file} is missing`)
  if (facts.workflows['ci.yml'] !== undefined) continuousIntegration(parse(facts.workflows['ci.yml']), manifest, same)
  if (facts.workflows['release.yml'] !== undefined) release(parse(facts.workflows['release.yml']), targets, same)
  found.push(...unpinned(facts.workflows))
  return found
}

/**
 * @typedef {(where: string, actual: unknown, expected: unknown) => void} Same
 */

/** @param {string} triple */
function named(triple) {
  const { platformArchABI, platform, arch, abi } = parseTriple(triple)
  const libc = platform === 'linux' ? LIBC[abi ?? ''] : undefined
  return { name: platformArchABI, os: /** @type {keyof typeof RUNNERS} */ (platform), cpu: arch, libc }
}

/**
 * @param {Facts} facts
 * @param {Same} same
 */
function versions({ manifest, lock, cargo, cargoLock, platforms }, same) {
  const { version } = manifest
  same('version of package-lock.json', lock['version'], version)
  same('packages[""].version of package-lock.json', lock['packages'][''].version, version)
  same('version of Cargo.toml', /^version = "(.+)"$/m.exec(cargo)?.[1], version)
  const crate = manifest['napi'].binaryName
  same('name of Cargo.toml', /^name = "(.+)"$/m.exec(cargo)?.[1], crate)
  same('version in Cargo.lock', new RegExp(`name = "${crate}"\\nversion = "(.+)"`).exec(cargoLock.replaceAll('\r', ''))?.[1], version)
  for (const { platform, manifest } of platforms) same(`version of npm/${platform}/package.json`, manifest['version'], version)
}

/**
 * @param {string} where
 * @param {Manifest} actual
 * @param {{ manifest: Manifest, name: string, os: string, cpu: string, libc: string | undefined }} expected
 * @param {Same} same
 */
function platformFields(where, actual, { manifest, name, os, cpu, libc }, same) {
  const binary = `${manifest['napi'].binaryName}.${name}.node`
  const expected = {
    name: `${manifest['napi'].packageName}-${name}`,
    main: binary,
    files: [binary],
    os: [os],
    cpu: [cpu],
    libc: libc && [libc],
    engines: manifest['engines'],
    license: manifest['license'],
    publishConfig: manifest['publishConfig'],
  }
  for (const [field, value] of Object.entries(expected)) same(`${field} of ${where}`, actual[field], value)
}

/**
 * @param {any} workflow
 * @param {Manifest} manifest
 * @param {Same} same
 */
function continuousIntegration(workflow, manifest, same) {
  const { os, node } = workflow.jobs.test?.strategy?.matrix ?? {}
  same('matrix.node of ci.yml', node?.map(String), NODES)
  same('systems of ci.yml', os?.map((/** @type {string} */ runner) => runner.split('-')[0]), ['ubuntu', 'macos', 'windows'])
  same('the oldest Node of ci.yml', NODES[0], /\d+/.exec(manifest['engines'].node)?.[0])
}

/**
 * @param {any} workflow
 * @param {(ReturnType<typeof named> & { triple: string })[]} targets
 * @param {Same} same
 */
function release(workflow, targets, same) {
  const build = workflow.jobs.build?.strategy?.matrix?.include ?? []
  same('the list of targets that release.yml builds', build.map((/** @type {any} */ { target }) => target), targets.map(({ triple }) => triple))
  for (const { triple, name, os } of targets) {
    const job = build.find((/** @type {any} */ { target }) => target === triple)
    if (job === undefined) continue
    same(`the runner that builds ${triple}`, job.os.slice(0, RUNNERS[os].length), RUNNERS[os])
    // Without these flags a Linux binary needs the C library of its builder: too new a glibc, or glibc instead of musl.
    const flags = name.endsWith('-gnu') ? '--use-napi-cross' : name.endsWith('-musl') ? '-x' : ''
    same(`flags of the build of ${triple}`, job.flags ?? '', flags)
  }
  const { platform, node } = workflow.jobs.test?.strategy?.matrix ?? {}
  const tested = platform?.map((/** @type {any} */ { name }) => name)
  same('the list of platforms that release.yml tests', tested, targets.map(({ name }) => name))
  same('matrix.node of the tests of release.yml', node?.map(String), NODES)
}

/**
 * An action is pinned by its full commit, with the version beside it for the reader.
 * @param {Record<string, string>} workflows
 * @returns {string[]}
 */
function unpinned(workflows) {
  const found = []
  const commits = /** @type {Map<string, string>} */ (new Map())
  for (const [file, text] of Object.entries(workflows)) {
    for (const [, use = ''] of text.matchAll(/^\s*(?:- )?uses: (.+)$/gm)) {
      if (use.startsWith('./')) continue
      const [, action = '', commit = ''] = /^([\w.-]+\/[\w./-]+)@([0-9a-f]{40}) # \S+/.exec(use) ?? []
      if (commit === '') found.push(`${file}: "${use}" is not pinned by a full commit with its version as a comment`)
      else if ((commits.get(action) ?? commit) !== commit) found.push(`${file}: ${action} is pinned to another commit elsewhere`)
      else commits.set(action, commit)
    }
  }
  return found
}

/**
 * Read the facts of a checkout that has been built.
 * @param {string} [repository]
 * @returns {Promise<Facts>}
 */
export async function collectFacts(repository = root) {
  const text = (/** @type {string[]} */ ...path) => readFileSync(join(repository, ...path), 'utf8')
  const manifest = readJson(join(repository, 'package.json'))
  const workflows = join('.github', 'workflows')
  return {
    manifest,
    lock: readJson(join(repository, 'package-lock.json')),
    cargo: text('Cargo.toml'),
    cargoLock: text('Cargo.lock'),
    platforms: platformPackages(repository),
    workflows: Object.fromEntries(readdirSync(join(repository, workflows)).map(file => [file, text(workflows, file)])),
    loaderNames: await namesOfLoader(manifest['napi'].targets),
    loaderSource: text('src-js', 'native.ts'),
  }
}

/**
 * Ask the built loader, each time as if on another platform.
 * @param {string[]} triples
 */
async function namesOfLoader(triples) {
  const { platformName } = await import('../lib/native.js')
  return Object.fromEntries(triples.map(triple => {
    const { os, cpu, libc } = named(triple)
    const report = { getReport: () => ({ header: libc === 'glibc' ? { glibcVersionRuntime: '2.17' } : {} }) }
    return [triple, pretending({ platform: os, arch: cpu, report }, platformName)]
  }))
}

/**
 * @template T
 * @param {Record<string, unknown>} properties - of `process`.
 * @param {() => T} body
 * @returns {T}
 */
function pretending(properties, body) {
  const real = Object.keys(properties).map(key => /** @type {const} */ ([key, Object.getOwnPropertyDescriptor(process, key)]))
  try {
    for (const [key, value] of Object.entries(properties)) Object.defineProperty(process, key, { value, configurable: true })
    return body()
  } finally {
    for (const [key, descriptor] of real) {
      if (descriptor === undefined) Reflect.deleteProperty(process, key)
      else Object.defineProperty(process, key, descriptor)
    }
  }
}

if (isMain(import.meta.url)) {
  const facts = await collectFacts()
  const found = disagreements(facts)
  for (const sentence of found) console.error(sentence)
  console.log(`${facts.platforms.length} platform packages at ${facts.manifest['version']}: ${found.length} disagreements`)
  process.exitCode = found.length === 0 ? 0 : 1
}
