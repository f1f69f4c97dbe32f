/**
 * Two contexts, two copies of the package and two Workers in one process, all at work at
 * the same time; none may see anything of another.
 * Usage: node side-by-side.ts URL-OF-ONE-COPY URL-OF-THE-OTHER
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { OPTIONS, Rig, step, touch } from './rig.ts'

type Package = typeof import('@deepseek-ai/dsh-agent-instructions')
const urls = process.argv.slice(2) as [string, string]
const [one, other] = await Promise.all(urls.map(url => import(url) as Promise<Package>)) as [Package, Package]
assert.notEqual(one.apply, other.apply, 'the copies are one module')

// Four hosts whose trees and budgets differ.
const rigs = await Promise.all([one, one, other, other].map(async (copy, index) => {
  const rig = await Rig.open(copy, { ...OPTIONS, maxBytes: 10_000 + index })
  rig.world.file('/w/p/AGENTS.md', `Only host ${index} has this.`)
  rig.pace(index % 2 === 0 ? 'prompt' : 'slow')
  return rig
}))
const workers = urls.map(url => new Worker(new URL('worker.ts', import.meta.url), { workerData: { url, rounds: 3 } }))
const texts = Promise.all(workers.map(async worker => {
  for (;;) {
    const [message] = await once(worker, 'message') as [unknown]
    if (typeof message === 'string') return message
  }
}))

for (let round = 0; round < 20; round++) {
  await Promise.all(rigs.map(async (rig, index) => {
    const { agent, detach } = rig.agent()
    touch(agent)
    await step(agent)
    const log = JSON.stringify(agent.session.deriveMessages())
    assert.ok(log.includes(`Only host ${index} has this.`) && log.includes('of the instructions of /w/p/a/AGENTS.md'))
    assert.ok(rigs.every((_, at) => at === index || !log.includes(`Only host ${at} has this.`)))
    assert.ok(log.includes(`\\"maxBytes\\":${10_000 + index}`))
    detach()
  }))
  // One goes, and comes back, while the others are at work.
  const rig = rigs[round % rigs.length] as Rig
  const { agent } = rig.agent()
  touch(agent)
  await rig.host.unmount()
  await rig.host.mount({ ...OPTIONS, maxBytes: 10_000 + round % rigs.length })
}
for (const text of await texts) assert.ok(text.includes('of the instructions of /w/p/AGENTS.md'))
await Promise.all(workers.map(worker => worker.terminate()))
await Promise.all(rigs.map(rig => rig.host.stop()))

// What is no native object is no way in.
const { InstructionEngine, ProviderMemory, SessionMemory } = await import(new URL('native.js', urls[0]).href) as typeof import('../../src-js/native.ts')
const { resolveConfig } = await import(new URL('config.js', urls[0]).href) as typeof import('../../src-js/config.ts')
const engine = new InstructionEngine(resolveConfig(OPTIONS), () => {})
const request = { cwd: '/w/p', claimed: '[]', pending: '[]', touched: [] }
for (const memory of [engine, {}, null, Object.create(SessionMemory.prototype)]) {
  assert.throws(() => engine.compose(memory as never, request), Error)
}
for (const receiver of [new SessionMemory(new ProviderMemory()), {}, Object.create(InstructionEngine.prototype)]) {
  assert.throws(() => InstructionEngine.prototype.cancel.call(receiver, 1), Error)
}
engine.dispose()
console.log('side by side')
