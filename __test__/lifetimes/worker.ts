/**
 * A Worker that never stops: pre-steps, touches and loads over providers of every pace,
 * always several of them on their way. It says so at every provider call, so that whoever
 * started it can end it at any of them.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Rig, rehearse, step, touch } from './rig.ts'
import type { Pace } from './rig.ts'

const { url, rounds } = workerData as { url: string, rounds: number }
const ours = await import(url) as typeof import('@deepseek-ai/dsh-agent-instructions')

async function work(pace: Pace): Promise<string> {
  const rig = await Rig.open(ours)
  rig.pace(pace)
  rig.faults.onCall = call => parentPort?.postMessage(call)
  let text = ''
  for (let round = 0; round < rounds; round++) {
    const { agent, detach } = rig.agent()
    touch(agent)
    const load = ours.loadBaselineInstructions({ maxBytes: 65_536, cwd: '/w/p', dshHome: '/home/.dsh' }, rig.host.ctx.get('fs'))
    const disk = ours.loadBaselineInstructions({ maxBytes: 65_536, cwd: process.cwd() })
    await step(agent)
    await rehearse(agent)
    text = (await load)?.text ?? ''
    await disk
    detach()
  }
  return text
}

void work('never')
void work('slow')
const text = await work('prompt')
parentPort?.postMessage(text)
