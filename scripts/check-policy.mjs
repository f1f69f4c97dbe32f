// @ts-check
/**
 * `npm run check:policy`: what this repository depends on, and from where. The lock file holds hashes and no address,
 * so that every registry mirror serves it; nothing comes from a git repository; at run time there are three dependencies,
 * two of them for the command line; and installing the package runs no script.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, root } from './manifest.mjs'
import { isMain } from './steps.mjs'

/** The configuration schema, and what the command line alone loads. */
const RUNTIME = ['@deepseek-ai/schemastery', 'commander', 'yaml']
const CRATES = 'registry+https://github.com/rust-lang/crates.io-index'
const DEPENDENCIES = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare']

/**
 * Find what the policy forbids.
 * @param {{ manifest: Record<string, any>, lock: Record<string, any>, cargoLock: string }} facts
 * @returns {string[]} one sentence for each breach.
 */
export function breaches({ manifest, lock, cargoLock }) {
  const found = /** @type {string[]} */ ([])
  const runtime = Object.keys(manifest['dependencies'] ?? {})
  if (runtime.join() !== RUNTIME.join()) found.push(`package.json depends at run time on ${runtime.join(', ') || 'nothing'}, expected ${RUNTIME.join(', ')}`)
  for (const script of INSTALL_SCRIPTS) if (manifest['scripts']?.[script] !== undefined) found.push(`package.json runs a script on install: ${script}`)
  const entries = Object.entries({ 'package.json': manifest, ...lock['packages'] })
  for (const [path, entry] of entries) {
    const where = path === '' ? 'the root of package-lock.json' : path
    if (entry.resolved !== undefined) found.push(`${where} has an address: ${entry.resolved}`)
    if (path.startsWith('node_modules/') && !entry.link && entry.integrity === undefined && !entry.inBundle) found.push(`${where} has no hash`)
    for (const kind of DEPENDENCIES) {
      for (const [name, specifier] of Object.entries(entry[kind] ?? {})) {
        if (!fromRegistry(String(specifier))) found.push(`${where} takes ${name} from ${specifier}`)
      }
    }
  }
  for (const [, name, source] of cargoLock.matchAll(/name = "(.+)"\r?\nversion = ".+"\r?\nsource = "(.+)"/g)) {
    if (source !== CRATES) found.push(`Cargo.lock takes ${name} from ${source}`)
  }
  return found
}

/**
 * A version range, a tag, or an alias of one; not a path, an address or `owner/repository`.
 * @param {string} specifier
 */
function fromRegistry(specifier) {
  const range = specifier.replace(/^npm:(@[\w.-]+\/)?[\w.-]+@/, '')
  return !/[:/]/.test(range)
}

if (isMain(import.meta.url)) {
  const found = breaches({
    manifest: readJson(join(root, 'package.json')),
    lock: readJson(join(root, 'package-lock.json')),
    cargoLock: readFileSync(join(root, 'Cargo.lock'), 'utf8'),
  })
  for (const sentence of found) console.error(sentence)
  console.log(`dependency policy: ${found.length} breaches`)
  process.exitCode = found.length === 0 ? 0 : 1
}
