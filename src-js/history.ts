/**
 * What a session's log says: which instruction messages the model can see, and
 * whether a step is open. Both are kept up to date event by event; the log itself
 * is walked only for what was missed, and anew when the surface was rewritten.
 *
 * @module @deepseek-ai/dsh-agent-instructions/history
 */
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import { isInstructionMessage } from './messages.ts'
import type { InstructionMessage } from './messages.ts'

/** The event access of hosts before 0.1.2 and from 0.1.2 on; told apart by what is there. */
interface EventLog {
  readonly events?: readonly SessionEvent[]
  eventAt?(seq: number): SessionEvent | undefined
  snapshotEvents?(): readonly SessionEvent[]
}

/**
 * Reach single events of a session, whatever the host's version calls it.
 * @param session - the session whose log is read.
 * @returns a function from sequence number to event.
 */
function eventReader(session: Session): (seq: number) => SessionEvent | undefined {
  const log = session as EventLog
  if (typeof log.eventAt === 'function') return seq => log.eventAt?.(seq)
  // Either copies the log, so it is asked for once for each walk and never on the warm path.
  const events = log.events ?? log.snapshotEvents?.() ?? []
  return seq => events[seq]
}

function instructionMessage(event: SessionEvent | undefined): InstructionMessage | undefined {
  return event?.type === 'user/message' && isInstructionMessage(event.data) ? event.data : undefined
}

/** The log of one session, as far as it was followed. */
export class SessionHistory {
  private readonly session: Session
  private messages: InstructionMessage[] = []
  /** The surface generation that `messages` is of; none yet. */
  private generation = -1
  private followed = 0
  private stepIsOpen = false

  /**
   * @param session - the session to follow; its log is walked when something is first asked.
   */
  constructor(session: Session) {
    this.session = session
  }

  /**
   * The instruction messages that the model sees, in surface order.
   * @returns the live list. It only grows; when the surface is rewritten, another list takes its place.
   */
  visible(): readonly InstructionMessage[] {
    this.catchUp()
    return this.messages
  }

  /**
   * Whether the log's last boundary opened a step.
   * @returns true between a `step/start` and the end of that step or its turn.
   */
  inStep(): boolean {
    this.catchUp()
    return this.stepIsOpen
  }

  /**
   * Take in one event as it is published.
   * @param event - the event that was just appended.
   */
  follow(event: SessionEvent): void {
    // An event ahead of the walk belongs to a stretch that will be walked as a whole.
    if (event.seq !== this.followed) return
    this.take(event)
  }

  private take(event: SessionEvent): void {
    this.followed++
    if (event.type === 'step/start') this.stepIsOpen = true
    else if (event.type === 'step/end' || event.type === 'turn/end') this.stepIsOpen = false
    const message = instructionMessage(event)
    if (message !== undefined && 'surfaceOp' in event && event.surfaceOp === 'append') {
      this.messages.push(message)
    }
  }

  private catchUp(): void {
    const { surface, seq } = this.session
    const rewritten = surface.replaceGeneration !== this.generation
    if (!rewritten && this.followed === seq) return
    const at = eventReader(this.session)
    while (this.followed < seq) {
      const event = at(this.followed)
      if (event === undefined) this.followed++
      else this.take(event)
    }
    if (rewritten) {
      this.generation = surface.replaceGeneration
      this.messages = surface.nodes.map(node => instructionMessage(at(node))).filter(message => message !== undefined)
    }
  }
}
