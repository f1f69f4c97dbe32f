/**
 * `npm run pack:local`: writes the root tarball and this machine's platform tarball
 * into artifacts/, as a release would publish them. The root package names its
 * platform packages only here: in the repository they would have to exist on the
 * registry before a fresh clone could install its dependencies.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const artifacts = join(root, 'artifacts')
const stage = join(artifacts, 'stage')
const { platformName } = await import('../lib/native.js')

/** A package.json with what only the repository needs left out. */
function publishedManifest(platforms) {
  const { scripts: _scripts, devDependencies: _dev, napi: _napi, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  manifest.optionalDependencies = Object.fromEntries(platforms.map(({ name, version }) => [name, version]))
  return manifest
}

function pack(directory) {
  const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', artifacts], { cwd: directory, encoding: 'utf8', shell: process.platform === 'win32' }))
  return filename
}

const platform = platformName()
const folder = join(root, 'npm', platform)
if (!existsSync(join(folder, 'package.json'))) throw new Error(`npm/${platform}/package.json is missing: ${platform} is not a supported platform`)

rmSync(artifacts, { recursive: true, force: true })
const native = join(stage, platform)
cpSync(folder, native, { recursive: true })
const manifest = JSON.parse(readFileSync(join(native, 'package.json'), 'utf8'))
copyFileSync(join(root, 'lib', manifest.main), join(native, manifest.main))

const main = join(stage, 'root')
mkdirSync(main, { recursive: true })
for (const file of ['index.d.ts', 'README.md', 'LICENSE']) if (existsSync(join(root, file))) copyFileSync(join(root, file), join(main, file))
cpSync(join(root, 'lib'), join(main, 'lib'), { recursive: true, filter: path => !/(\.node|-stamp)$/.test(path) })
writeFileSync(join(main, 'package.json'), `${JSON.stringify(publishedManifest([manifest]), null, 2)}\n`)

for (const directory of [main, native]) console.log(`artifacts/${pack(directory)}`)
rmSync(stage, { recursive: true })
