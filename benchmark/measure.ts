/**
 * Paired measurement. In every round each lane has its turn — published, ours, and
 * the floors of both — so that whatever else the machine does meets all of them.
 */
import { elapsed } from './gauges.ts'
import type { Gauge } from './gauges.ts'
import { chainsOf, floorTrial } from './floor.ts'
import type { LayoutFactory } from './layouts.ts'
import { plugins, Stage } from './stage.ts'
import type { SideName } from './stage.ts'
import type { TreeFactory } from './trees.ts'
import type { Subject, SubjectFactory, Trial } from './trials.ts'

/** One line of the table. */
export interface Case {
  readonly name: string
  readonly tree: TreeFactory
  readonly layout: LayoutFactory
  readonly subject: SubjectFactory
  /** What is measured; time when nothing is said. */
  readonly gauge?: Gauge
  /** How many times faster the project wants to be; stated beside the ratio, never asserted. */
  readonly target?: number
}

/** How long to measure. */
export interface Effort {
  /** Seconds that the rounds of one case may take. */
  readonly seconds: number
  /** Rounds that are played however long they take. */
  readonly rounds: number
  /** Seconds before anything counts: code that runs for the first time is compiled meanwhile. */
  readonly warmUp: number
}

/** Distribution of one lane's samples, in milliseconds. */
export interface Summary {
  readonly median: number
  readonly quartiles: readonly [number, number]
  readonly samples: number
}

/** What a case came to. */
export interface Result {
  readonly name: string
  readonly target?: number
  readonly published: Summary
  readonly ours: Summary
  /** Median of published by median of ours. */
  readonly ratio: number
  /** Median of the rounds' own ratios. */
  readonly pairedRatio: number
  /** Provider operations of one trial. */
  readonly operations: Readonly<Record<SideName, number>>
  /** Each side's provider calls with no plugin around them. */
  readonly floor: Readonly<Record<SideName, Summary>>
}

const SIDES: readonly SideName[] = ['published', 'ours']
const MOST_ROUNDS = 400
/** Milliseconds of rest between trials: hardly any while warming up, more where it counts. */
const PAUSES = { warmUp: 1, measured: 20 }

interface Lane {
  readonly stage: Stage
  readonly subject: Subject
  readonly samples: number[]
  readonly floor: number[]
  operations: number
}

/**
 * Measure one case.
 * @param line - what is measured.
 * @param effort - for how long.
 * @returns medians, operations and floors of both sides.
 * @throws when a side says anything but what the other one says.
 */
export async function measure(line: Case, effort: Effort): Promise<Result> {
  const lanes = { published: await lane('published', line), ours: await lane('ours', line) }
  try {
    await rounds(effort.warmUp, 3, () => play(line, lanes, PAUSES.warmUp))
    for (const side of SIDES) lanes[side].samples.length = lanes[side].floor.length = lanes[side].operations = 0
    await rounds(effort.seconds, effort.rounds, () => play(line, lanes, PAUSES.measured))
    for (const side of SIDES) await lanes[side].subject.finish?.()
  } finally {
    for (const side of SIDES) await lanes[side].stage.close()
  }
  const { published, ours } = lanes
  const summary = { published: summarize(published.samples), ours: summarize(ours.samples) }
  return {
    name: line.name,
    ...(line.target === undefined ? {} : { target: line.target }),
    ...summary,
    ratio: summary.published.median / summary.ours.median,
    pairedRatio: summarize(published.samples.map((sample, round) => sample / (ours.samples[round] as number))).median,
    operations: { published: published.operations, ours: ours.operations },
    floor: { published: summarize(published.floor), ours: summarize(ours.floor) },
  }
}

async function lane(side: SideName, line: Case): Promise<Lane> {
  const stage = await Stage.open(plugins[side], line.tree, line.layout)
  return { stage, subject: await line.subject(stage), samples: [], floor: [], operations: 0 }
}

/** Repeat for so many seconds, but at least so many times. */
async function rounds(seconds: number, least: number, round: () => Promise<void>): Promise<void> {
  const start = performance.now()
  const more = (played: number) => played < least || performance.now() - start < seconds * 1000
  for (let played = 0; played < MOST_ROUNDS && more(played); played++) await round()
}

async function play(line: Case, lanes: Record<SideName, Lane>, pause: number): Promise<void> {
  const gauge = line.gauge ?? elapsed
  const said: string[] = []
  const calls: string[][] = []
  for (const side of SIDES) {
    const { stage, subject, samples } = lanes[side]
    const trial = await subject.prepare()
    samples.push(await sample(stage, gauge, trial, pause))
    calls.push([...stage.tree.log])
    said.push(await trial.said())
  }
  if (said[0] !== said[1]) throw new Error(`${line.name}: the sides differ.\npublished: ${said[0]}\nours: ${said[1]}`)
  for (const [index, side] of SIDES.entries()) {
    const own = lanes[side]
    const log = calls[index] as string[]
    own.operations = Math.max(own.operations, log.length)
    own.floor.push(await sample(own.stage, gauge, floorTrial(own.stage.ctx, chainsOf(log)), pause))
  }
}

/** Run one trial and wait until the stage is quiet: what the work set in motion is counted as its own. */
async function sample(stage: Stage, gauge: Gauge, trial: Trial, pause: number): Promise<number> {
  // The young garbage of one lane is not collected on another lane's time.
  await globalThis.gc?.({ type: 'minor', execution: 'sync' })
  stage.tree.log.length = 0
  const value = await gauge(() => trial.work())
  await stage.quiet(pause)
  return value
}

/**
 * Describe samples.
 * @param samples - any number of them, at least one.
 * @returns their median and quartiles.
 */
export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((left, right) => left - right)
  const at = (share: number) => {
    const position = (sorted.length - 1) * share
    const [low, high] = [sorted[Math.floor(position)] as number, sorted[Math.ceil(position)] as number]
    return low + (high - low) * (position - Math.floor(position))
  }
  return { median: at(0.5), quartiles: [at(0.25), at(0.75)], samples: sorted.length }
}
