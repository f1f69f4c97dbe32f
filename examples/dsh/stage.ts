/** What a script is played on. */
import type { ScriptedModel } from './scripted-model.ts'

/** The surroundings of one script; the same for each of its sides. */
export interface Stage {
  model: ScriptedModel
  /** Address of the model. */
  baseUrl: string
  /** The directory below which the script's world is made. */
  directory: string
  /** Where transcripts that differ are written. */
  differences: string
}
