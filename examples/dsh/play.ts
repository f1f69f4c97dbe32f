/** Plays one script on both sides and puts the comparison into words. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { compare, normalize, render } from './compare.ts'
import { playScript, type Piece, type Transcript } from './harness.ts'
import type { Install } from './install.ts'
import type { Script } from './script-types.ts'
import type { Stage } from './stage.ts'

/** What came of one script. */
export interface Result {
  isIdentical: boolean
  /** Both sides went through the script as it is written. */
  isSound: boolean
  /** Both models received workspace instructions. */
  wasInstructed: boolean
  /** For a person. */
  report: string
}

// Small enough to leave its mark wherever instructions are loaded.
const otherBudget = { maxBytes: 300 }

/**
 * Compare the published package with the native one.
 * @param script - what to play.
 * @param published - install of the published package.
 * @param native - install of the native package.
 * @param stage - where to play.
 * @returns the outcome.
 */
export async function comparePackages(script: Script, published: Install, native: Install, stage: Stage): Promise<Result> {
  const left = await playScript(script, published, stage)
  const right = await playScript(script, native, stage)
  const leftPieces = normalize(left.pieces, published.directory)
  const rightPieces = normalize(right.pieces, native.directory)
  const differences = compare(leftPieces, rightPieces)
  const problems = [
    ...left.problems.map((problem) => `published: ${problem}`),
    ...right.problems.map((problem) => `native: ${problem}`),
  ]
  if (left.isNative === true) problems.push('published: the process loaded a native binary of the package')
  if (right.isNative === false) problems.push('native: the process did not load the native binary')
  const lines = [...describe(script, left), ...problems.map((problem) => `  problem, ${problem}`)]
  if (differences.length === 0) {
    lines.push('  identical')
  } else {
    saveTranscripts(script, leftPieces, rightPieces, stage)
    const where = relative(process.cwd(), stage.differences)
    lines.push(
      `  DIFFERENT in ${differences.length} of ${left.pieces.length} texts, whole in ${where}; the first:`,
      ...indent(differences[0] ?? ''),
    )
  }
  return {
    isIdentical: differences.length === 0,
    isSound: problems.length === 0,
    wasInstructed: left.seen.length > 0 && right.seen.length > 0,
    report: lines.join('\n'),
  }
}

/**
 * Check the comparison itself: the published package must be identical to itself, or
 * something volatile is left in the transcripts, and different under another budget,
 * or the comparison is blind.
 * @param script - what to play.
 * @param published - install of the published package.
 * @param stage - where to play.
 * @returns the outcome; sound when both hold.
 */
export async function selfCheck(script: Script, published: Install, stage: Stage): Promise<Result> {
  const first = await playScript(script, published, stage)
  const again = await playScript(script, published, stage)
  const other = await playScript(script, published, stage, otherBudget)
  const firstPieces = normalize(first.pieces, published.directory)
  const againPieces = normalize(again.pieces, published.directory)
  const otherPieces = normalize(other.pieces, published.directory)
  const same = compare(firstPieces, againPieces)
  const different = compare(firstPieces, otherPieces)
  // Where no instructions are found, no budget can show.
  const mustDiffer = first.seen.length + other.seen.length > 0
  const lines = [...describe(script, first), ...first.problems.map((problem) => `  problem, ${problem}`)]
  lines.push(same.length === 0 ? '  played again: identical' : '  problem, played again: DIFFERENT')
  if (same.length > 0) {
    saveTranscripts(script, firstPieces, againPieces, stage)
    lines.push(...indent(same[0] ?? ''))
  }
  const isSeeing = different.length > 0 === mustDiffer
  lines.push(
    `  ${isSeeing ? '' : 'problem, '}with ${JSON.stringify(otherBudget)}: ${different.length} of ${first.pieces.length} texts differ`,
  )
  return {
    isIdentical: same.length === 0,
    isSound: first.problems.length === 0 && same.length === 0 && isSeeing,
    wasInstructed: first.seen.length > 0,
    report: lines.join('\n'),
  }
}

function describe(script: Script, transcript: Transcript): string[] {
  const { requests, seen } = transcript
  return [
    `${script.name}: ${script.about}`,
    `  ${requests} ${requests === 1 ? 'request' : 'requests'}; the model was told${seen.length === 0 ? ' nothing' : ''}`,
    ...seen.map((message, index) => `    ${index + 1}. ${message}`),
  ]
}

function saveTranscripts(script: Script, left: Piece[], right: Piece[], stage: Stage): void {
  mkdirSync(stage.differences, { recursive: true })
  writeFileSync(join(stage.differences, `${script.name}.published.txt`), render(left))
  writeFileSync(join(stage.differences, `${script.name}.native.txt`), render(right))
}

function indent(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`)
}
