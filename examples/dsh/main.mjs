#!/usr/bin/env node
// The harness needs a newer Node than this package does, and `run.ts` relies on that
// Node's type stripping. So this entry is plain JavaScript that any Node can read: it
// finds a Node that is new enough and hands over to it.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const required = [22, 19]

/**
 * Tell whether a version string names a Node that can run the harness.
 * @param {string} version - as in `process.versions.node`.
 * @returns {boolean} true from 22.19 on.
 */
function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > required[0] || (major === required[0] && minor >= required[1])
}

if (isNewEnough(process.versions.node)) {
  const { main } = await import('./run.ts')
  try {
    process.exitCode = await main(process.argv.slice(2))
  } catch (error) {
    // What goes wrong here is a missing tarball or a failed install: no stack helps.
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
} else {
  // The development dependency `node` carries a binary of its own.
  const binary = process.platform === 'win32' ? 'node.exe' : 'node'
  const bundled = join(here, '..', '..', 'node_modules', 'node', 'bin', binary)
  if (!existsSync(bundled)) {
    console.error(
      `demo:dsh needs Node ${required.join('.')} or newer, and this is ${process.versions.node}.\n` +
        'Run `npm install` first: the development dependency `node` brings one.',
    )
    process.exit(1)
  }
  const child = spawnSync(bundled, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exit(child.status ?? 1)
}
