/**
 * A panic in the core becomes an error in JavaScript, whichever way it was called. The
 * shipped binary has no way to panic on purpose, so one is built that has: the same
 * source and release profile, with two planted lines, in a copy of the package.
 * Usage: node panics.ts
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { OPTIONS, Rig, step } from './rig.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** A file of this name makes rendering panic. */
const TRIGGER = 'PANIC.md'
/** So does a budget of this size. */
const TRIGGER_BYTES = 424_243

const [url] = process.argv.slice(2)
if (url === undefined) build()
else await check(url)

function build(): void {
  const top = mkdtempSync(join(tmpdir(), 'panics-'))
  try {
    for (const part of ['Cargo.toml', 'Cargo.lock', 'build.rs', 'src', 'benches', 'lib', 'package.json']) cpSync(join(root, part), join(top, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(top, 'node_modules'))
    plant(join(top, 'src/core/render.rs'), /pub fn render_baseline\([\s\S]*?\{\n/, `items.iter().any(|item| item.display_path.ends_with("${TRIGGER}"))`)
    plant(join(top, 'src/core/budget.rs'), /pub fn new\(limit[\s\S]*?\{\n/, `limit == ${TRIGGER_BYTES}.0`)
    // Link-time optimization takes minutes and changes nothing about unwinding.
    const quick = ['profile.release.lto="off"', 'profile.release.codegen-units=16', 'profile.release.opt-level=1'].flatMap(setting => ['--config', setting])
    const target = join(root, 'target/panics')
    execFileSync('cargo', ['build', '--release', '--lib', '--quiet', ...quick, '--target-dir', target], { cwd: top, stdio: 'inherit' })
    const library = { linux: 'libdsh_agent_instructions.so', darwin: 'libdsh_agent_instructions.dylib', win32: 'dsh_agent_instructions.dll' }[process.platform as 'linux']
    const binary = readdirSync(join(top, 'lib')).find(name => name.endsWith('.node'))
    assert.ok(binary !== undefined, 'the package has not been built')
    cpSync(join(target, 'release', library), join(top, 'lib', binary))
    const copy = pathToFileURL(join(top, 'lib/index.js')).href
    process.stdout.write(execFileSync(process.execPath, [fileURLToPath(import.meta.url), copy], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  } finally {
    rmSync(top, { recursive: true })
  }
}

/** Make a function panic under a condition. */
function plant(source: string, opening: RegExp, condition: string): void {
  const before = readFileSync(source, 'utf8')
  const after = before.replace(opening, found => `${found}        if ${condition} { std::panic!("planted"); }\n`)
  assert.ok(after !== before, `there is nowhere to plant a panic in ${source}`)
  writeFileSync(source, after)
}

async function check(url: string): Promise<void> {
  const planted = await import(url) as typeof import('@deepseek-ai/dsh-agent-instructions')
  const top = mkdtempSync(join(tmpdir(), 'panic-'))
  writeFileSync(join(top, TRIGGER), 'x')
  const options = { ...OPTIONS, cwd: top, projectRoot: top, instructionFileCandidates: [TRIGGER] }
  const file = { absolutePath: `/${TRIGGER}`, displayPath: TRIGGER, content: 'x' }
  const crossed: string[] = []
  const isPlanted = (way: string) => (error: unknown) => {
    crossed.push(way)
    return error instanceof Error && error.message.includes('planted')
  }

  assert.throws(() => planted.renderWorkspaceContext([file], OPTIONS), isPlanted('a synchronous export'))
  await assert.rejects(planted.loadBaselineInstructions(options), isPlanted('an asynchronous export'))
  await assert.rejects(Promise.all(Array.from({ length: 20 }, () => planted.loadBaselineInstructions(options))), isPlanted('several at once'))
  rmSync(top, { recursive: true })
  const unreadable = { ...options, maxBytes: TRIGGER_BYTES }
  await assert.rejects(planted.loadBaselineInstructions(unreadable), isPlanted('the reading of options'))
  await assert.rejects(planted.loadBaselineInstructions(unreadable, {} as never), isPlanted('a constructor'))

  const rig = await Rig.open(planted, { ...OPTIONS, instructionFileCandidates: ['AGENTS.md', TRIGGER] })
  const warnings: string[] = []
  rig.host.ctx.logger.exporter({ levels: { default: 2 }, export: ({ args }) => { warnings.push(args.join(' ')) } })
  rig.world.file(`/w/p/${TRIGGER}`, 'x')
  await assert.rejects(planted.loadBaselineInstructions({ ...options, cwd: '/w/p', projectRoot: '/w/p' }, rig.host.ctx.get('fs')), isPlanted('an answer to the core'))

  // In a session: said once for each step, the batch enters as it was, and the next step is right.
  const { agent } = rig.agent()
  assert.deepEqual(await step(agent), ['user'])
  assert.equal(warnings.length, 1)
  assert.ok(isPlanted('a step of a session')(new Error(warnings[0])))
  rig.world.remove(`/w/p/${TRIGGER}`)
  assert.deepEqual(await step(agent), ['user', 'agent-instructions'])
  await rig.host.stop()
  console.log(`panics cross as errors in ${crossed.join(', ')}`)
}
