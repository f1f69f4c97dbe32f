// @ts-check
/**
 * `npm run check:nodes`: runs the packed tarballs on Node 20, 22, 24 and the newest. The npm package `node` ships the
 * binaries; they are kept in .cache/nodes for the next time.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './manifest.mjs'
import { check, installPacked } from './smoke.mjs'

const NODES = ['20', '22', '24', 'latest']
const windows = process.platform === 'win32'

/**
 * Install one Node, unless it is there.
 * @param {string} version - major version, or `latest`, which is asked for each time.
 * @returns {string} path of the binary.
 */
function nodeBinary(version) {
  const directory = join(root, '.cache', 'nodes', version)
  const binary = join(directory, 'node_modules', 'node', 'bin', windows ? 'node.exe' : 'node')
  if (version === 'latest' || !existsSync(binary)) {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'package.json'), '{"private":true}\n')
    execFileSync('npm', ['install', `node@${version}`, '--no-audit', '--no-fund', '--loglevel=error'], { cwd: directory, stdio: 'inherit', shell: windows })
  }
  return binary
}

const { platformName } = await import('../lib/native.js')
const project = installPacked(join(root, 'artifacts'))
try {
  const failed = NODES.filter(version => !check(project, platformName(), nodeBinary(version)))
  console.log(`${NODES.length - failed.length} of ${NODES.length} Node versions passed`)
  process.exitCode = failed.length === 0 ? 0 : 1
} finally {
  rmSync(project, { recursive: true, force: true })
}
