"""What stands at the head of every file for Rocq: the few definitions that its lemmas use, and how they are proved."""

from __future__ import annotations

from typing import Final

NUMBERS: Final = r"""From Coq Require Import QArith List.
Import ListNotations.
Open Scope Q_scope.

(* A product of matrices, given by their rows, and the value of v B v. *)
Definition dot (u v : list Q) : Q := fold_right (fun p total => Qred (fst p * snd p + total)) 0 (combine u v).
Definition column (B : list (list Q)) (k : nat) : list Q := map (fun row => nth k row 0) B.
Definition times (A B : list (list Q)) : list (list Q) :=
  map (fun row => map (fun k => dot row (column B k)) (seq 0 (length A))) A.
Definition identity (n : nat) : list (list Q) :=
  map (fun i => map (fun k => if Nat.eqb i k then 1 else 0) (seq 0 n)) (seq 0 n).
Definition form (B : list (list Q)) (v : list Q) : Q := dot v (map (fun row => dot row v) B).
Definition same (A B : list (list Q)) : Prop := Forall2 (Forall2 Qeq) A B.

Fixpoint same_entries (u v : list Q) : bool :=
  match u, v with nil, nil => true | a :: u', b :: v' => (Qeq_bool a b && same_entries u' v')%bool | _, _ => false end.
Fixpoint same_rows (A B : list (list Q)) : bool :=
  match A, B with nil, nil => true | u :: A', v :: B' => (same_entries u v && same_rows A' B')%bool | _, _ => false end.
Lemma same_entries_right : forall u v, same_entries u v = true -> Forall2 Qeq u v.
Proof.
  induction u as [|a u IH]; intros [|b v] H; simpl in H; try discriminate; constructor;
    apply andb_prop in H; destruct H as [H K]; [now apply Qeq_bool_eq | now apply IH].
Qed.
Lemma same_rows_right : forall A B, same_rows A B = true -> same A B.
Proof.
  induction A as [|a A IH]; intros [|b B] H; simpl in H; try discriminate; constructor;
    apply andb_prop in H; destruct H as [H K]; [now apply same_entries_right | now apply IH].
Qed.

Ltac counted :=
  lazymatch goal with
  | |- _ /\ _ => split; counted
  | |- _ \/ _ => first [left; counted | right; counted]
  | |- _ => vm_compute; first [reflexivity | discriminate]
  end.
"""

REALS: Final = r"""From Coq Require Import Reals Psatz.
Open Scope R_scope.

Lemma from_quotient : forall e n d : R, e = n / d -> 0 <= n -> 0 < d -> 0 <= e.
Proof. intros e n d -> N D. apply Rmult_le_pos; [exact N | apply Rlt_le, Rinv_0_lt_compat, D]. Qed.
Lemma from_quotient_strictly : forall e n d : R, e = n / d -> 0 < n -> 0 < d -> 0 < e.
Proof. intros e n d -> N D. apply Rmult_lt_0_compat; [exact N | apply Rinv_0_lt_compat, D]. Qed.
Lemma moved : forall low x : R, low <= x -> exists t, 0 <= t /\ x = low + t.
Proof. intros low x H. exists (x - low). lra. Qed.

(* Signs by structure. *)
Ltac leaf := first [assumption | lra | interval_].
Ltac positive :=
  lazymatch goal with
  | |- 0 < _ + _ =>
      first [ apply Rplus_le_lt_0_compat; [ | solve [positive]]; solve [nonnegative]
            | apply Rplus_lt_le_0_compat; [solve [positive] | solve [nonnegative]] | leaf ]
  | |- 0 < _ * _ => first [apply Rmult_lt_0_compat; solve [positive] | leaf]
  | |- 0 < _ / _ => first [apply Rdiv_lt_0_compat; solve [positive] | leaf]
  | |- 0 < / _ => apply Rinv_0_lt_compat; positive
  | |- 0 < _ ^ _ => apply pow_lt; positive
  | |- 0 < sqrt _ => apply sqrt_lt_R0; positive
  | |- 0 < exp _ => apply exp_pos
  | |- 0 < Rpower _ _ => apply exp_pos
  | |- 0 < PI => exact PI_RGT_0
  | |- _ => leaf
  end
with nonnegative :=
  lazymatch goal with
  | |- 0 <= _ + _ => first [apply Rplus_le_le_0_compat; solve [nonnegative] | leaf]
  | |- 0 <= _ * _ => first [apply Rmult_le_pos; solve [nonnegative] | leaf]
  | |- 0 <= _ / _ => first [ apply Rmult_le_pos;
                           [solve [nonnegative] | apply Rlt_le, Rinv_0_lt_compat; solve [positive]]
                         | leaf ]
  | |- 0 <= _ ^ 2 => apply pow2_ge_0
  | |- 0 <= _ ^ _ => apply pow_le; nonnegative
  | |- 0 <= sqrt _ => apply sqrt_pos
  | |- _ => first [leaf | apply Rlt_le; positive]
  end.

(* What is not 0: by its sign, or because it is another form of what is not 0 by hypothesis. *)
Ltac factors :=
  lazymatch goal with
  | |- _ * _ <> 0 => apply Rmult_integral_contrapositive_currified; factors
  | |- _ ^ _ <> 0 => apply pow_nonzero; factors
  | |- _ => nonzero
  end
with nonzero :=
  first
    [ assumption
    | apply Rgt_not_eq; solve [positive]
    | match goal with H : ?a <> 0 |- ?b <> 0 => let E := fresh in intro E; apply H; solve [rewrite <- E; ring] end
    | match goal with H : ?a <> 0 |- ?b <> 0 => let E := fresh in intro E; apply H; solve [lra | nra] end
    | match goal with H : ?a <> 0 |- ?b <> 0 =>
        let E := fresh in intro E; apply H; solve [field_simplify_eq; [first [lra | nra] | repeat split; simple_]] end
    | let E := fresh in intro E; solve [lra]
    | let E := fresh in intro E; solve [nra] ]
with simple_ := first [assumption | apply Rgt_not_eq; solve [positive] | apply pow_nonzero; simple_].
Ltac sides := repeat split; solve [factors].
Ltac spread :=
  unfold Rminus;
  repeat first
    [ rewrite Rpower_plus | rewrite Rpower_Ropp | rewrite exp_plus | rewrite exp_Ropp
    | rewrite Rpower_1 by positive ].
"""

WITHOUT_INTERVAL: Final = "Ltac interval_ := fail.\n"
WITH_INTERVAL: Final = "From Interval Require Import Tactic.\nLtac interval_ := solve [interval with (i_prec 90)].\n"
