// @ts-check
/**
 * `npm run pack:local`: writes the root tarball and this machine's platform tarball
 * into artifacts/, as a release would publish them.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pack, platformPackages, root, stagePlatform, stageRoot } from './manifest.mjs'

const artifacts = join(root, 'artifacts')
const stage = join(artifacts, 'stage')
const { platformName } = await import('../lib/native.js')

const platform = platformName()
const native = platformPackages().find(candidate => candidate.platform === platform)
if (native === undefined) throw new Error(`npm/${platform}/package.json is missing: ${platform} is not a supported platform`)
const binary = join(root, 'lib', native.manifest['main'])
if (!existsSync(binary)) throw new Error(`lib/${native.manifest['main']} is missing: run \`npm run build\` first`)

rmSync(artifacts, { recursive: true, force: true })
stageRoot(join(stage, 'root'), [native.manifest])
stagePlatform(join(stage, platform), native, binary)
for (const name of ['root', platform]) console.log(`artifacts/${pack(join(stage, name), artifacts)}`)
rmSync(stage, { recursive: true })
