/** The shape of a script: what lies on the disk, what is asked, what the model does. */
import type { Reply } from './scripted-model.ts'
import type { Files, World } from './world.ts'

/** One process of the command line. */
export interface ScriptRun {
  /** A single task goes through the product's own one-shot runner; a list is one session of several turns. */
  task: string | string[]
  /** Continue the session of the run before this one. */
  isResume?: boolean
  /** Configuration of the plugin in this process; the product's own when absent. */
  config?: Record<string, unknown>
  /** Work done on the disk before the process starts. */
  before?: (world: World) => void
  /** What the model answers, request by request. */
  replies: (world: World) => Reply[]
  /** The exit code that the process must end with, 0 when absent. */
  exitCode?: number
}

/** One script, played once with each install. */
export interface Script {
  name: string
  /** One line for a person. */
  about: string
  /** Leave `DSH_HOME` unset, so that the harness's home is `~/.dsh`. */
  usesDefaultHome?: boolean
  /** Content of the harness's home. */
  home?: Files
  /** Content of the project. */
  project: Files
  /** Where the command starts, relative to the project. */
  cwd?: string
  /** Further environment of the process. */
  env?: Record<string, string>
  runs: ScriptRun[]
  /**
   * What the model must have been told, in order, in the short form of `seen.ts`. It
   * keeps a script from passing because the same thing went wrong on both sides.
   */
  sees: string[]
}
