/**
 * Everything that the other commands need, done once: dependencies, then the addon
 * and the TypeScript build. Does nothing when nothing changed. Plain JavaScript, so
 * that any supported Node can run it on a fresh clone.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

function filesBelow(path) {
  const absolute = join(root, path)
  if (!existsSync(absolute)) return []
  return readdirSync(absolute, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile() && entry.name !== 'addon.d.ts')
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
}

function hash(paths) {
  const digest = createHash('sha256')
  for (const path of paths) digest.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
  return digest.digest('hex')
}

/** Run `make` unless `stamp` tells that it ran for these very inputs and its outputs are there. */
function step(name, stamp, inputs, outputs, make) {
  const path = join(root, stamp)
  const wanted = hash(inputs)
  const fresh = outputs.every(output => existsSync(join(root, output))) && existsSync(path) && readFileSync(path, 'utf8') === wanted
  if (fresh) return
  console.log(`setup: ${name}`)
  make()
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, wanted)
}

function run(command, ...args) {
  // `shell` lets Windows find npm.cmd; no argument here holds anything that a shell would read.
  execFileSync(command, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
}

const at = (...names) => names.map(name => join(root, name))

step('installing dependencies', 'node_modules/.setup-stamp', at('package.json', 'package-lock.json'), ['node_modules/vitest'],
  () => run('npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'))

const rust = [...at('Cargo.toml', 'Cargo.lock', 'build.rs', 'package.json'), ...filesBelow('src')]
step('building the native addon', 'lib/.native-stamp', rust, ['src-js/addon.d.ts'], () => run('npm', 'run', '--silent', 'build:native'))

const typescript = [...at('tsconfig.json', 'src-js/addon.d.ts'), ...filesBelow('src-js')]
step('building the TypeScript side', 'lib/.typescript-stamp', typescript, ['lib/index.js'], () => run('npm', 'run', '--silent', 'build:ts'))
