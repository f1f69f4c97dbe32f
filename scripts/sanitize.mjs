// @ts-check
/**
 * `npm run sanitize [-- vitest arguments]`: the Node suites over an addon that AddressSanitizer watches.
 *
 * Linux only; needs a nightly Rust toolchain and gcc's libasan, which is loaded before Node. The suites run in a copy of
 * the tree beside the build, so that `lib` keeps its own addon. Left out: what packs or measures memory, since the
 * sanitizer keeps freed memory back. A report fails the run and is printed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { root } from './manifest.mjs'

const target = join(root, 'target', 'sanitized')
const tree = join(target, 'tree')
const reports = join(target, 'reports')
const COPIED = ['__test__', 'lib', 'src-js', 'scripts', 'package.json', 'index.d.ts', 'tsconfig.json', 'tsconfig.check.json', 'vitest.config.ts', 'README.md', 'README.zh.md']
const SUITES = ['--exclude', '**/{packed,packages,readme}.spec.ts', '--testNamePattern', '^(?!memory )']

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(`sanitize: ${message}`)
  process.exit(1)
}

/** @returns {string} the runtime that an instrumented addon needs. */
function runtime() {
  const { stdout } = spawnSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' })
  const path = stdout?.trim() ?? ''
  return isAbsolute(path) && existsSync(path) ? path : fail('gcc with libasan is needed')
}

/** @returns {string} the host's target triple. */
function hostTriple() {
  const { stdout, status } = spawnSync('rustc', ['+nightly', '-vV'], { encoding: 'utf8' })
  const host = /^host: (.+)$/m.exec(stdout ?? '')?.[1]
  return status === 0 && host !== undefined ? host : fail('a nightly toolchain is needed: rustup toolchain install nightly --profile minimal')
}

if (process.platform !== 'linux') fail('it runs on Linux only')
const preloaded = runtime()
const triple = hostTriple()
const { platformName } = await import('../lib/native.js')

execFileSync('cargo', ['+nightly', 'build', '--lib', '--target', triple, '--target-dir', target], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, RUSTFLAGS: '-Zsanitizer=address' },
})
for (const directory of [tree, reports]) {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
}
for (const name of COPIED) cpSync(join(root, name), join(tree, name), { recursive: true })
symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
copyFileSync(join(target, triple, 'debug', 'libdsh_agent_instructions.so'), join(tree, 'lib', `dsh-agent-instructions.${platformName()}.node`))

const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', ...SUITES, ...process.argv.slice(2)], {
  cwd: tree,
  stdio: 'inherit',
  // Node and its engine free little at the end; what the addon leaks is measured by `npm run soak`.
  env: { ...process.env, LD_PRELOAD: preloaded, ASAN_OPTIONS: `detect_leaks=0:abort_on_error=1:log_path=${join(reports, 'asan')}` },
})
const found = readdirSync(reports)
for (const name of found) console.log(readFileSync(join(reports, name), 'utf8'))
console.log(`sanitize: ${found.length} reports`)
process.exitCode = status === 0 && found.length === 0 ? 0 : 1
