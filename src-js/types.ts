/**
 * Public types, and the message source that this package adds to the harness.
 *
 * @module @deepseek-ai/dsh-agent-instructions/types
 */
import type { FsVersion } from '@deepseek-ai/dsh-fs'

/** An instruction file, named for the disk and for the model. */
export interface InstructionFile {
  /** Absolute path under the host platform's rules. */
  absolutePath: string
  /** Project-root-relative path with forward slashes, `~/.dsh/AGENTS.md`, or `$DSH_HOME/AGENTS.md`. */
  displayPath: string
}

/** An instruction file together with its content. */
export interface LoadedInstructionFile extends InstructionFile {
  /** The exact text, neither trimmed nor normalized. */
  content: string
  /** The provider's freshness token at the time of the read, when a provider answered. */
  version?: FsVersion
}

/** The byte account of a file whose content was cut to fit the budget. */
export interface TruncatedInstruction {
  /** Model-facing path of the cut file. */
  displayPath: string
  /** UTF-8 bytes of the complete content. */
  originalBytes: number
  /** UTF-8 bytes that stayed, before escaping. */
  includedBytes: number
}

/** A rendered baseline (README, "Prompt Shape") and what the byte budget did to its files. */
export interface RenderedWorkspaceContext {
  /** The complete message text, at most `maxBytes` UTF-8 bytes; empty when nothing fits. */
  text: string
  /** Files that were dropped whole, broadest first. */
  omitted: InstructionFile[]
  /** Files whose content was cut: none or one. */
  truncated: TruncatedInstruction[]
}

/** One persisted state transition of one candidate file. */
export interface AgentInstructionChange {
  /** `set`: newly in force; `replace`: new content supersedes the old; `remove`: no longer in force. */
  action: 'set' | 'replace' | 'remove'
  /** Scope key: a directory and a candidate name, separated by NUL. */
  scope: string
  /** Model-facing path at the time of the change. */
  path: string
  /** Lowercase hexadecimal SHA-1 of the complete content; absent for a removal. */
  digest?: string
}

/** The typed source of every message this plugin sends: durable state, never shown to the model. */
export interface AgentInstructionSource {
  kind: 'agent-instructions'
  /** The harness's context form for instructions read from files. */
  form: 'instructions'
  /** Marks a complete baseline; a later delta carries no such mark. */
  baseline?: true
  /** JSON text of the discovery, precedence, project-root and budget configuration of a baseline. */
  baselineIdentity?: string
  /** The transitions that the message represents, in order. */
  changes: AgentInstructionChange[]
}

declare module '@deepseek-ai/dsh-llm' {
  interface MessageSourceMap {
    'agent-instructions': AgentInstructionSource
  }
}
