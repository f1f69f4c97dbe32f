/**
 * The public types, used as a host and a caller use them, against the real host's declarations. Compiled, never run:
 * `npm run check:types`. A line under `@ts-expect-error` must not compile.
 */
import { Context } from '@deepseek-ai/cordis'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { MessageSource, MessageSourceMap } from '@deepseek-ai/dsh-llm'
import type { FileSystem, FsVersion } from '@deepseek-ai/dsh-fs'
import * as plugin from '@deepseek-ai/dsh-agent-instructions'
import {
  apply,
  Config,
  discoverBaselineInstructionFiles,
  inspectAgentInstructions,
  loadBaselineInstructions,
  name,
  renderAgentInstructions,
  renderWorkspaceContext,
} from '@deepseek-ai/dsh-agent-instructions'
import type {
  AgentInstructionChange,
  AgentInstructionSource,
  DiscoverOptions,
  InspectedInstruction,
  InspectOptions,
  InstructionFile,
  InstructionInspection,
  InstructionState,
  LoadedInstructionFile,
  LoadOptions,
  RenderedWorkspaceContext,
  TruncatedInstruction,
} from '@deepseek-ai/dsh-agent-instructions'
import * as invariant from '@deepseek-ai/dsh-agent-instructions/invariant'

/** Compiles only when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const holds = <_ extends true>(): void => {}

export async function mounting(ctx: Context): Promise<void> {
  await ctx.plugin(plugin, { maxBytes: 65_536 })
  await ctx.plugin(plugin, {
    dshHome: '~/.dsh',
    projectRootMarkers: ['.git'],
    maxBytes: 65_536,
    maxSourceBytes: 1_048_576,
    instructionFileCandidates: ['AGENTS.md'],
    localInstructionFileCandidates: [],
  })
  await ctx.plugin(invariant)
  // @ts-expect-error maxBytes has no default
  await ctx.plugin(plugin, {})
  // @ts-expect-error a limit is a number
  await ctx.plugin(plugin, { maxBytes: '65536' })
  // @ts-expect-error candidates are a list
  await ctx.plugin(plugin, { maxBytes: 65_536, instructionFileCandidates: 'AGENTS.md' })
}

export function moduleShape(ctx: Context): void {
  holds<Same<typeof name, 'agent-instructions'>>()
  holds<Same<typeof invariant.name, 'workspace-context-invariant'>>()
  holds<Same<typeof renderAgentInstructions, typeof renderWorkspaceContext>>()
  const validated: Config = new Config({ maxBytes: 1 })
  // @ts-expect-error there is no such option
  const misspelt: Config = { maxBytes: 1, maxByte: 1 }
  const nothing: void = apply(ctx, validated)
  const services: readonly string[] = invariant.inject
  const release: Promise<() => void> = invariant.apply(ctx)
  void [nothing, services, release, misspelt]
  // @ts-expect-error a default export would be taken for the plugin
  void plugin.default
  // @ts-expect-error the addon's own names stay inside
  void plugin.InstructionEngine
}

export function messageSource(source: MessageSource): string {
  holds<Same<MessageSourceMap['agent-instructions'], AgentInstructionSource>>()
  if (source.kind !== 'agent-instructions') return source.kind
  holds<Same<typeof source, AgentInstructionSource>>()
  const changes: AgentInstructionChange[] = source.changes
  return changes.map(({ action, scope, path, digest }) => `${action} ${scope} ${path} ${digest ?? ''}`).join('\n')
}

export function sending(): void {
  createUserMessage({
    content: [{ type: 'text', text: 'Instructions' }],
    source: { kind: 'agent-instructions', form: 'instructions', baseline: true, baselineIdentity: '{}', changes: [] },
  })
  const change: AgentInstructionChange = { action: 'remove', scope: '.\0AGENTS.md', path: 'AGENTS.md' }
  const source: AgentInstructionSource = { kind: 'agent-instructions', form: 'instructions', changes: [change] }
  // @ts-expect-error a source without changes says nothing
  const silent: AgentInstructionSource = { kind: 'agent-instructions', form: 'instructions' }
  // @ts-expect-error a delta has no `baseline` at all
  const delta: AgentInstructionSource = { kind: 'agent-instructions', form: 'instructions', baseline: false, changes: [] }
  // @ts-expect-error there are three actions
  const unknown: AgentInstructionChange = { action: 'rename', scope: '.\0AGENTS.md', path: 'AGENTS.md' }
  void [source, silent, delta, unknown]
}

export async function loading(fs: FileSystem, version: FsVersion, signal: AbortSignal): Promise<void> {
  const discovery: DiscoverOptions = { cwd: '/project', projectRoot: '/', dshHome: '~', projectRootMarkers: [], signal }
  const options: LoadOptions = { ...discovery, maxBytes: 1, maxSourceBytes: 1, replacePreviousBaseline: true }
  const found: InstructionFile[] = await discoverBaselineInstructionFiles(discovery)
  const natively: RenderedWorkspaceContext | undefined = await loadBaselineInstructions(options)
  const provided: RenderedWorkspaceContext | undefined = await loadBaselineInstructions(options, fs)
  const files: LoadedInstructionFile[] = found.map(file => ({ ...file, content: '', version }))
  const rendered = renderWorkspaceContext(files, { maxBytes: 1 })
  holds<Same<typeof rendered, RenderedWorkspaceContext>>()
  const text: string = rendered.text
  const omitted: InstructionFile[] = rendered.omitted
  const [cut]: TruncatedInstruction[] = rendered.truncated
  void [natively, provided, text, omitted, cut?.displayPath, cut?.originalBytes, cut?.includedBytes]
  // @ts-expect-error an absent baseline is undefined
  void natively.text
  // @ts-expect-error a budget is needed
  void loadBaselineInstructions({ cwd: '/project' })
  // @ts-expect-error and a directory
  void loadBaselineInstructions({ maxBytes: 1 })
  // @ts-expect-error a provider resolves, probes and streams
  void loadBaselineInstructions(options, { readFile: async () => '' })
  // @ts-expect-error content is needed
  void renderWorkspaceContext([{ absolutePath: '/AGENTS.md', displayPath: 'AGENTS.md' }], { maxBytes: 1 })
}

export async function inspecting(fs: FileSystem, discovery: DiscoverOptions): Promise<void> {
  const options: InspectOptions = { ...discovery, maxBytes: 1, touch: 'src/main.ts' }
  const inspection: InstructionInspection = await inspectAgentInstructions(options, fs)
  const file: InspectedInstruction | undefined = inspection.files[0]
  const asFile: InstructionFile | undefined = file
  const state: InstructionState = file?.state ?? 'absent'
  const shown: [number, number, string, string | undefined] = [file?.messageBytes ?? 0, file?.budgetShare ?? 0, inspection.rendered.join(''), file?.reason]
  void [asFile, state, shown]
  // @ts-expect-error a budget is needed to tell what fits
  void inspectAgentInstructions(discovery)
  // @ts-expect-error there is no such state
  void (state === 'missing')
}

/** Whoever is written against the published package's types compiles against this one's. */
export function dropIn(): void {
  const replacement: Omit<typeof import('published-agent-instructions'), 'Config'> = plugin
  const companion: typeof import('published-agent-instructions/invariant') = invariant
  const config: Config = {} as import('published-agent-instructions').Config
  const back: import('published-agent-instructions').Config = {} as Config
  void [replacement, companion, config, back]
}
