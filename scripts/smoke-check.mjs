// @ts-check
/**
 * Copied by `smoke.mjs` into a project that has installed the package, and run there:
 * what a user gets must load, find, render and mount. Prints one line of what was proven.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const NAME = '@deepseek-ai/dsh-agent-instructions'
const [, , platform] = process.argv
const plugin = await import(NAME)
const { Context } = await import('@deepseek-ai/cordis')

const report = /** @type {any} */ (process.report.getReport())
const loaded = report.sharedObjects.filter((/** @type {string} */ path) => path.endsWith('.node'))
assert.equal(loaded.length, 1, `expected one addon, found ${loaded.join(', ') || 'none'}`)
assert.ok(loaded[0].replaceAll('\\', '/').includes(`${NAME}-${platform}/`), `${loaded[0]} is not in the package of ${platform}`)

const home = realpathSync(mkdtempSync(join(tmpdir(), 'agent-instructions-')))
try {
  const project = join(home, 'project')
  mkdirSync(join(project, '.git'), { recursive: true })
  mkdirSync(join(project, 'nested'))
  writeFileSync(join(project, 'AGENTS.md'), 'Say <hello> 你好.')
  writeFileSync(join(project, 'nested', 'CLAUDE.md'), 'Nested.')
  const options = { cwd: join(project, 'nested'), dshHome: join(home, 'dsh'), maxBytes: 65_536 }

  const files = await plugin.discoverBaselineInstructionFiles(options)
  assert.deepEqual(files.map((/** @type {any} */ file) => file.displayPath), ['AGENTS.md', 'nested/CLAUDE.md'])
  const baseline = await plugin.loadBaselineInstructions(options)
  assert.match(baseline.text, /你好[^]*Nested\./)
  const cut = plugin.renderWorkspaceContext([{ ...files[0], content: 'x'.repeat(9_000) }], { maxBytes: 1_000 })
  assert.equal(cut.truncated.length, 1)
  assert.ok(Buffer.byteLength(cut.text) <= 1_000)

  const context = new Context()
  const fiber = context.plugin(plugin, { maxBytes: 65_536 })
  await fiber
  await fiber.dispose()
} finally {
  rmSync(home, { recursive: true, force: true })
}
console.log(`Node ${process.version} on ${platform}: loads, discovers, reads, renders, truncates, mounts`)
