/**
 * Ends Workers with calls in flight, each at another moment, and says how many; a crash of
 * one of them would take this process with it.
 * Usage: node terminations.ts COUNT
 */
import { Worker } from 'node:worker_threads'
import { Random } from '../support/random.ts'

const url = import.meta.resolve('@deepseek-ai/dsh-agent-instructions')
const count = Number(process.argv[2])
const random = new Random(count)
const moments = { atBirth: 0, atCall: 0 }

/** Start one, and end it at birth or at one of its provider calls. */
async function terminate(): Promise<void> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: { url, rounds: Infinity } })
  const at = random.chance(0.05) ? 0 : 1 + random.below(60)
  await new Promise<void>((resolve, reject) => {
    worker.on('error', reject)
    if (at === 0) worker.once('online', resolve)
    let calls = 0
    worker.on('message', () => { if (++calls === at) resolve() })
  })
  moments[at === 0 ? 'atBirth' : 'atCall']++
  await worker.terminate()
}

// Two at a time, so that one ends while another one works.
let left = count
await Promise.all([0, 1].map(async () => {
  while (left-- > 0) await terminate()
}))
console.log(JSON.stringify(moments))
