/**
 * Native instruction loading for DeepSeek Harness: AGENTS.md, CLAUDE.md and their
 * overlays, as a Cordis plugin. There is no default export: the loader would take it
 * for the plugin.
 *
 * @module @deepseek-ai/dsh-agent-instructions
 */
export { Config } from './config.ts'
export { discoverBaselineInstructionFiles, loadBaselineInstructions, renderWorkspaceContext } from './load.ts'
export { renderWorkspaceContext as renderAgentInstructions } from './load.ts'
export { inspectAgentInstructions } from './inspect.ts'
export { apply } from './plugin.ts'
export type { InspectOptions, InspectedInstruction, InstructionInspection, InstructionState } from './inspect.ts'
export type { DiscoverOptions, LoadOptions } from './load.ts'
export type {
  AgentInstructionChange,
  AgentInstructionSource,
  InstructionFile,
  LoadedInstructionFile,
  RenderedWorkspaceContext,
  TruncatedInstruction,
} from './types.ts'

/** Cordis plugin name. */
export const name = 'agent-instructions'
