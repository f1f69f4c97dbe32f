/**
 * A process of its own that ends in one of several ways, by itself where it is not said
 * otherwise. What it has come to is its last line; nothing here waits at the top level, so
 * that a call that is lost shows.
 */
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import { Rig, step, touch } from './rig.ts'
import type { Pace } from './rig.ts'

const [way, pace] = process.argv.slice(2) as [string, Pace]
let account = 'nothing'
process.on('exit', () => { console.log(account) })

async function mounted(): Promise<Rig> {
  const rig = await Rig.open(ours)
  rig.pace(pace)
  return rig
}

/** A pre-step and a projection that are on their way. */
async function flying(): Promise<Rig> {
  const rig = await mounted()
  const { agent } = rig.agent()
  const { agent: other } = rig.agent()
  touch(other)
  void step(agent).then(kinds => { account = kinds.join() }, error => { account = String(error) })
  return rig
}

const turn = () => new Promise(resolve => setImmediate(resolve))

const ways: Record<string, () => Promise<unknown>> = {
  async 'works and disposes'() {
    const rig = await mounted()
    const { agent } = rig.agent()
    account = (await step(agent)).join()
    touch(agent)
    await step(agent)
    await rig.host.stop()
  },
  'goes without a word': flying,
  async 'disposes in flight'() {
    const rig = await flying()
    await turn()
    await rig.host.stop()
  },
  async 'disposes before the first answer'() {
    await (await flying()).host.stop()
  },
  async 'exits in flight'() {
    await flying()
    await turn()
    process.exit(0)
  },
  async 'fails in flight'() {
    await flying()
    await turn()
    setImmediate(() => { throw new Error('on purpose') })
  },
  async 'loads from a provider'() {
    const rig = await mounted()
    void ours.loadBaselineInstructions({ ...ours.Config({ maxBytes: 65_536 }), cwd: '/w/p', dshHome: '/home/.dsh' }, rig.host.ctx.get('fs'))
      .then(rendered => { account = String(rendered?.text.includes('Edition')) })
  },
  async 'loads from the disk'() {
    void ours.loadBaselineInstructions({ maxBytes: 65_536, cwd: process.cwd() }).then(() => { account = 'loaded' })
  },
  async 'exits while it loads from the disk'() {
    for (let load = 0; load < 50; load++) void ours.loadBaselineInstructions({ maxBytes: 65_536, cwd: process.cwd() })
    process.exit(0)
  },
}

void ways[way]?.()
