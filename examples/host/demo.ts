/**
 * `npm run demo`: the real host, a temporary project, and a scripted model; prints what the
 * model receives, and fails unless that is what it should receive.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inspect, isDeepStrictEqual } from 'node:util'
import type { Message } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { Host } from './host.ts'
import { ScriptedModel } from './model.ts'
import { heading, paint, request } from './print.ts'
import { FILES, SCENES } from './scenes.ts'
import type { Scene } from './scenes.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'instructions-demo-')))
const project = join(root, 'project')
const shorten = (text: string): string => text.replaceAll(project, '<project>')

function change(files: Record<string, string | null>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(project, name)
    mkdirSync(dirname(path), { recursive: true })
    if (content === null) rmSync(path)
    else writeFileSync(path, content)
  }
}

function assertSame(actual: unknown, expected: unknown, otherwise: string): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`${otherwise}\n  expected: ${inspect(expected)}\n  received: ${inspect(actual)}`)
}

function isInstruction({ role, source }: Message): boolean {
  return role === 'user' && source.kind === 'agent-instructions'
}

function textOf({ content }: Message): string {
  return content.map(block => block.type === 'text' ? block.text : `[${block.type}]`).join('\n')
}

/** The demo as it goes along. */
class Demo {
  private readonly model = new ScriptedModel()
  private host: Host | undefined
  private log: readonly SessionEvent[] = []
  /** Messages of the last request: a later one only adds to them. */
  private known: readonly Message[] = []

  async play(scene: Scene): Promise<void> {
    if (scene.host !== undefined) await this.stop()
    change(scene.files ?? {})
    if (scene.host !== undefined) {
      const { maxBytes, from } = scene.host
      if (from === 'nothing') this.known = []
      const log = from === 'log' ? { log: this.log } : {}
      this.host = await Host.start({ cwd: project, dshHome: join(root, 'home'), maxBytes, model: this.model, ...log })
    }
    const before = this.model.requests.length
    this.model.script(scene.replies)
    await this.host?.prompt(scene.prompt)
    for (const [index, messages] of this.model.requests.slice(before).entries()) {
      const fresh = messages.slice(this.known.length)
      request(before + index + 1, fresh, shorten)
      this.verify(messages, fresh, scene.receives[index] ?? [], `request ${before + index + 1}`)
      this.known = messages
    }
    assertSame(this.model.requests.length - before, scene.receives.length, `"${scene.title}": the model did not get as many requests as it should`)
    assertSame(this.model.unsaid, 0, `"${scene.title}": the model was not asked for all it had to say`)
  }

  private verify(messages: readonly Message[], fresh: readonly Message[], expected: readonly string[], name: string): void {
    assertSame(messages.slice(0, this.known.length), this.known, `${name} does not begin with what the model had received before`)
    if (!fresh.some(isInstruction)) console.log(paint('dim', `${''.padStart(13)} | (no instructions)`))
    assertSame(fresh.filter(isInstruction).map(textOf), expected, `${name} does not hold the instructions that it should`)
    assertSame(fresh.findIndex(isInstruction), expected.length === 0 ? -1 : fresh.length - expected.length, `${name} holds its instructions elsewhere than at its end`)
  }

  async stop(): Promise<void> {
    if (this.host !== undefined) this.log = await this.host.stop()
    this.host = undefined
  }
}

// A host that comes to no end must not keep a terminal waiting.
const deadline = setTimeout(() => {
  console.error('\nFAILED: the demo did not come to its end within 30 seconds')
  process.exit(1)
}, 30_000)

const demo = new Demo()
try {
  change(FILES)
  for (const [index, scene] of SCENES.entries()) {
    heading(index + 1, scene.title, scene.about)
    await demo.play(scene)
  }
  console.log(`\n${paint('green', 'The model received what it should, byte for byte.')}`)
} catch (error) {
  process.exitCode = 1
  console.error(`\n${paint('red', 'FAILED:')} ${error instanceof Error ? error.message : String(error)}`)
} finally {
  clearTimeout(deadline)
  await demo.stop()
  rmSync(root, { recursive: true, force: true })
}
