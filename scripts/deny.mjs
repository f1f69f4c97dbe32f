// @ts-check
/**
 * `node scripts/deny.mjs <checks>`: runs cargo-deny (deny.toml). Takes the one that is installed, else builds one into
 * .cache/cargo once, which takes minutes; unoptimized, because that is quicker than it is slow.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './manifest.mjs'

const VERSION = '0.20.2'
const own = join(root, '.cache', 'cargo', 'bin', process.platform === 'win32' ? 'cargo-deny.exe' : 'cargo-deny')

/** @type {(command: string, args: string[], stdio?: 'inherit' | 'ignore') => boolean} */
const succeeds = (command, args, stdio = 'inherit') => spawnSync(command, args, { cwd: root, stdio }).status === 0

const [command] = ['cargo-deny', own].filter(candidate => succeeds(candidate, ['--version'], 'ignore'))
if (command === undefined) succeeds('cargo', ['install', '--locked', '--quiet', '--debug', '--root', join(root, '.cache', 'cargo'), `cargo-deny@${VERSION}`])
if (command === undefined && !existsSync(own)) throw new Error('cargo-deny is not installed and could not be built')
process.exitCode = succeeds(command ?? own, ['--locked', 'check', ...process.argv.slice(2)]) ? 0 : 1
