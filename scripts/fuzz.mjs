/**
 * `npm run fuzz -- --minutes N`: every cargo-fuzz target for its share of the minutes.
 *
 * Needs a nightly toolchain; installs cargo-fuzz where it is missing. A target that breaks a rule
 * leaves the input that did it; what reproduces it is printed, and the exit code is 1.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const NIGHTLY = '+nightly'
/** The core has no unsafe code that a sanitizer could watch; without one, several times as many inputs are run. */
const UNWATCHED = ['--sanitizer', 'none']
/** How often a running target is reported, in milliseconds. */
const REPORT_EVERY = 5_000

/** How much of the time a target gets, where that is not one share: sessions have the most states. */
const SHARES = { compose: 4 }
/** What libFuzzer is told of a target: a session is worth little before it is long. */
const OPTIONS = { compose: ['-max_len=150', '-len_control=0'] }

function positive(text) {
  const number = Number(text)
  if (!(number > 0 && Number.isFinite(number))) throw new InvalidArgumentError('expected a positive number')
  return number
}

function fail(message) {
  console.error(message)
  process.exit(1)
}

function succeeds(...args) {
  return spawnSync('cargo', args, { cwd: root, stdio: 'ignore' }).status === 0
}

function cargo(...args) {
  const { status } = spawnSync('cargo', args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) fail(`cargo ${args.join(' ')} failed`)
}

function prepare() {
  if (!succeeds(NIGHTLY, '--version')) fail('fuzzing needs a nightly toolchain: rustup toolchain install nightly --profile minimal')
  if (!succeeds('fuzz', '--version')) {
    console.log('fuzz: installing cargo-fuzz')
    cargo('install', '--locked', 'cargo-fuzz')
  }
  console.log('fuzz: building the targets')
  cargo(NIGHTLY, 'fuzz', 'build', ...UNWATCHED)
}

/** The targets, as fuzz/Cargo.toml names them. */
function everyTarget() {
  const manifest = readFileSync(join(root, 'fuzz', 'Cargo.toml'), 'utf8')
  return [...manifest.matchAll(/^\[\[bin\]\]\nname = "([^"]+)"/gm)].map(([, name]) => name)
}

/**
 * Run one target to its end.
 * @returns how many inputs it ran, and the tail of what it said where it broke.
 */
function run(target, seconds) {
  const args = [NIGHTLY, 'fuzz', 'run', ...UNWATCHED, target, '--', `-max_total_time=${seconds}`, '-print_final_stats=1', ...(OPTIONS[target] ?? [])]
  const child = spawn('cargo', args, { cwd: root, stdio: ['ignore', 'inherit', 'pipe'] })
  const lines = []
  let rest = ''
  let latest = ''
  let started
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', chunk => {
    const pieces = (rest + chunk).split('\n')
    rest = pieces.pop()
    for (const line of pieces) {
      lines.push(line)
      // Cargo speaks first; the clock is the fuzzer's.
      if (line.startsWith('INFO: ')) started ??= performance.now()
      if (/^#\d+\s/.test(line)) latest = line
    }
    lines.splice(0, lines.length - 400)
  })
  const timer = setInterval(() => {
    if (started === undefined) return
    const [, runs = '0', coverage = '?'] = /^#(\d+).*?cov: (\d+)/.exec(latest) ?? []
    const elapsed = Math.round((performance.now() - started) / 1_000)
    console.log(`  ${target}: ${elapsed} of ${seconds} s, ${runs} inputs, coverage ${coverage}`)
  }, REPORT_EVERY)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      clearInterval(timer)
      const runs = Number(lines.findLast(line => line.startsWith('stat::number_of_executed_units:'))?.split(':').at(-1) ?? Number.NaN)
      resolve({ runs, broke: code === 0 ? undefined : lines })
    })
  })
}

function explain(target, lines) {
  const panic = lines.findIndex(line => line.includes('panicked at'))
  const end = lines.findIndex((line, index) => index > panic && /^(==\d+==|stack backtrace|note: )/.test(line))
  if (panic >= 0) console.error(lines.slice(panic, end > panic ? end : undefined).join('\n'))
  const artifact = lines.map(line => /(fuzz\/artifacts\/\S+)/.exec(line)?.[1]).findLast(path => path && existsSync(join(root, path)))
  if (artifact === undefined) {
    console.error(lines.slice(-40).join('\n'))
    return
  }
  console.error(`\n${target} broke on ${artifact} (base64 ${readFileSync(join(root, artifact)).toString('base64')})`)
  console.error(`  again:    cargo ${NIGHTLY} fuzz run ${UNWATCHED.join(' ')} ${target} ${artifact}`)
  console.error(`  readable: cargo ${NIGHTLY} fuzz fmt ${target} ${artifact}`)
  console.error(`  smaller:  cargo ${NIGHTLY} fuzz tmin ${UNWATCHED.join(' ')} ${target} ${artifact}`)
}

const targets = everyTarget()
const { minutes, only } = new Command('fuzz')
  .description('Run the fuzz targets of the pure core, one after another.')
  .option('--minutes <n>', 'how long, all targets together', positive, 5)
  .option('--only <target>', `one target alone: ${targets.join(', ')}`)
  .parse()
  .opts()
if (only !== undefined && !targets.includes(only)) fail(`no such target: ${only}; there are ${targets.join(', ')}`)

prepare()
const chosen = only === undefined ? targets : [only]
const share = target => SHARES[target] ?? 1
const shares = chosen.reduce((sum, target) => sum + share(target), 0)
const broken = []
for (const target of chosen) {
  const seconds = Math.max(1, Math.round(minutes * 60 * share(target) / shares))
  console.log(`fuzz: ${target} for ${seconds} s`)
  const { runs, broke } = await run(target, seconds)
  if (broke === undefined) {
    console.log(`fuzz: ${target} held for ${runs} inputs`)
  } else {
    broken.push(target)
    explain(target, broke)
  }
}
console.log(broken.length === 0 ? `fuzz: ${chosen.length} targets held` : `fuzz: broken: ${broken.join(', ')}`)
process.exit(broken.length === 0 ? 0 : 1)
