(* Differential privacy of mechanisms with finitely many outcomes: definitions, and the theorems that numbers rest on.
   Only the standard library of Rocq is used. Definitions come first in each section; proofs may be skipped. *)

From Coq Require Import Reals Psatz List Bool Arith.
Import ListNotations.
Open Scope R_scope.

(* 1. Finite laws. Outcomes are listed, each once; a law gives each its probability. *)

Fixpoint sum {A : Type} (outcomes : list A) (f : A -> R) : R :=
  match outcomes with [] => 0 | a :: others => f a + sum others f end.

Definition is_law {A : Type} (outcomes : list A) (p : A -> R) : Prop :=
  NoDup outcomes /\ (forall a, In a outcomes -> 0 <= p a) /\ sum outcomes p = 1.

Definition probability {A : Type} (outcomes : list A) (p : A -> R) (event : A -> bool) : R :=
  sum outcomes (fun a => if event a then p a else 0).

(* 2. A pair of laws: the hockey-stick divergence of order c, the privacy profile, approximate and pure privacy. *)

Definition hockey_stick {A : Type} (outcomes : list A) (c : R) (p q : A -> R) : R :=
  sum outcomes (fun a => Rmax 0 (p a - c * q a)).

Definition profile {A : Type} (outcomes : list A) (p q : A -> R) (epsilon : R) : R :=
  hockey_stick outcomes (exp epsilon) p q.

Definition approximately_private_pair {A : Type} (outcomes : list A) (p q : A -> R) (epsilon delta : R) : Prop :=
  forall event, probability outcomes p event <= exp epsilon * probability outcomes q event + delta.

Definition purely_private_pair {A : Type} (outcomes : list A) (p q : A -> R) (epsilon : R) : Prop :=
  approximately_private_pair outcomes p q epsilon 0.

(* 3. Neighbouring datasets. *)

Definition one_added {Record : Type} (x y : list Record) : Prop :=
  exists before record after, x = before ++ after /\ y = before ++ record :: after.

Definition add_or_remove_one {Record : Type} (x y : list Record) : Prop := one_added x y \/ one_added y x.

Definition replace_one {Record : Type} (x y : list Record) : Prop :=
  exists before old new after, x = before ++ old :: after /\ y = before ++ new :: after.

(* 4. Mechanisms: a law for each input. The input is a dataset, or what one person holds in the local model. *)

Definition is_mechanism {Input A : Type} (outcomes : list A) (M : Input -> A -> R) : Prop :=
  forall x, is_law outcomes (M x).

Definition approximately_private {Input A : Type} (outcomes : list A) (neighbours : Input -> Input -> Prop)
    (M : Input -> A -> R) (epsilon delta : R) : Prop :=
  forall x y, neighbours x y -> approximately_private_pair outcomes (M x) (M y) epsilon delta.

Definition purely_private {Input A : Type} (outcomes : list A) (neighbours : Input -> Input -> Prop)
    (M : Input -> A -> R) (epsilon : R) : Prop :=
  approximately_private outcomes neighbours M epsilon 0.

(* 5. Dominating pairs (Zhu, Dong and Wang 2022, definition 7): of no order c is the divergence of (p, q) larger. *)

Definition pair_dominates {B A : Type} (of_pair : list B) (P Q : B -> R) (outcomes : list A) (p q : A -> R) : Prop :=
  forall c, 0 <= c -> hockey_stick outcomes c p q <= hockey_stick of_pair c P Q.

Definition dominates {B Input A : Type} (of_pair : list B) (P Q : B -> R)
    (outcomes : list A) (neighbours : Input -> Input -> Prop) (M : Input -> A -> R) : Prop :=
  forall x y, neighbours x y -> pair_dominates of_pair P Q outcomes (M x) (M y).

(* 6. Post-processing, products and adaptive composition of laws. *)

Definition is_stochastic {A B : Type} (outcomes : list A) (results : list B) (K : A -> B -> R) : Prop :=
  forall a, In a outcomes -> is_law results (K a).

Definition postprocessed {A B : Type} (outcomes : list A) (K : A -> B -> R) (p : A -> R) (b : B) : R :=
  sum outcomes (fun a => p a * K a b).

Definition product {A B : Type} (p : A -> R) (r : B -> R) (both : A * B) : R := p (fst both) * r (snd both).

(* The second law may depend on the first outcome. *)
Definition composed {A B : Type} (p : A -> R) (r : A -> B -> R) (both : A * B) : R :=
  p (fst both) * r (fst both) (snd both).

(* 7. Trade-off function: (alpha, beta) is attained by a test if it rejects P = p with probability alpha, and
   accepts although q holds with probability beta. Tests may be randomised. *)

Definition is_test {A : Type} (outcomes : list A) (rejects : A -> R) : Prop :=
  forall a, In a outcomes -> 0 <= rejects a <= 1.

Definition first_error {A : Type} (outcomes : list A) (p : A -> R) (rejects : A -> R) : R :=
  sum outcomes (fun a => rejects a * p a).

Definition second_error {A : Type} (outcomes : list A) (q : A -> R) (rejects : A -> R) : R :=
  sum outcomes (fun a => (1 - rejects a) * q a).

(* beta is at most every second error at first error alpha or less, and no larger number is. *)
Definition is_trade_off {A : Type} (outcomes : list A) (p q : A -> R) (alpha beta : R) : Prop :=
  (forall rejects, is_test outcomes rejects ->
    first_error outcomes p rejects <= alpha -> beta <= second_error outcomes q rejects) /\
  (forall larger, (forall rejects, is_test outcomes rejects ->
    first_error outcomes p rejects <= alpha -> larger <= second_error outcomes q rejects) -> larger <= beta).

(* 8. Randomised response on k answers: the true answer e^epsilon times as often as each other one. *)

Definition answers (k : nat) : list nat := seq 0 k.

Definition randomised_response (k : nat) (epsilon : R) (truth answer : nat) : R :=
  (if Nat.eqb answer truth then exp epsilon else 1) / (exp epsilon + INR k - 1).

Definition other_answer (k : nat) (truth other : nat) : Prop := (truth < k)%nat /\ (other < k)%nat /\ truth <> other.

(* Sums. *)

Section Sums.
Context {A : Type}.
Implicit Types (s : list A) (f g : A -> R).

Lemma sum_ext s f g : (forall a, In a s -> f a = g a) -> sum s f = sum s g.
Proof. induction s as [|a s IH]; simpl; intros H; [reflexivity|]. rewrite (H a), IH; auto. Qed.

Lemma sum_le s f g : (forall a, In a s -> f a <= g a) -> sum s f <= sum s g.
Proof. induction s as [|a s IH]; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma sum_plus s f g : sum s (fun a => f a + g a) = sum s f + sum s g.
Proof. induction s as [|a s IH]; simpl; lra. Qed.

Lemma sum_minus s f g : sum s (fun a => f a - g a) = sum s f - sum s g.
Proof. induction s as [|a s IH]; simpl; lra. Qed.

Lemma sum_scal s c f : sum s (fun a => c * f a) = c * sum s f.
Proof. induction s as [|a s IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma sum_const s c : sum s (fun _ => c) = INR (length s) * c.
Proof. induction s as [|a s IH]; [simpl; ring|]. cbn [length sum]. rewrite S_INR, IH. ring. Qed.

Lemma sum_nonnegative s f : (forall a, In a s -> 0 <= f a) -> 0 <= sum s f.
Proof. induction s as [|a s IH]; simpl; intros H; [lra|]. apply Rplus_le_le_0_compat; auto. Qed.

Lemma term_le_sum s f a : (forall b, In b s -> 0 <= f b) -> In a s -> f a <= sum s f.
Proof.
  induction s as [|b s IH]; simpl; intros H I; [contradiction|].
  assert (0 <= sum s f) by (apply sum_nonnegative; auto). assert (0 <= f b) by auto.
  destruct I as [<-|I]; [lra|]. assert (f a <= sum s f) by auto. lra.
Qed.

Lemma sum_app s t f : sum (s ++ t) f = sum s f + sum t f.
Proof. induction s as [|a s IH]; simpl; lra. Qed.

End Sums.

Lemma sum_map {A B} (h : A -> B) (s : list A) f : sum (map h s) f = sum s (fun a => f (h a)).
Proof. induction s as [|a s IH]; simpl; congruence. Qed.

Lemma sum_swap {A B} (s : list A) (t : list B) (f : A -> B -> R) :
  sum s (fun a => sum t (fun b => f a b)) = sum t (fun b => sum s (fun a => f a b)).
Proof.
  induction s as [|a s IH]; simpl.
  - rewrite sum_const. ring.
  - rewrite IH. rewrite <- sum_plus. reflexivity.
Qed.

Lemma sum_list_prod {A B} (s : list A) (t : list B) (f : A * B -> R) :
  sum (list_prod s t) f = sum s (fun a => sum t (fun b => f (a, b))).
Proof. induction s as [|a s IH]; simpl; [reflexivity|]. rewrite sum_app, sum_map, IH. reflexivity. Qed.

Lemma sum_at (s : list nat) (i : nat) (x : R) :
  NoDup s -> In i s -> sum s (fun a => if Nat.eqb a i then x else 0) = x.
Proof.
  intros N; induction N as [|a s out N IH]; simpl; intros I; [contradiction|].
  destruct (Nat.eqb_spec a i) as [->|different].
  - rewrite (sum_ext s _ (fun _ => 0)); [rewrite sum_const; ring|].
    intros b Ib. destruct (Nat.eqb_spec b i) as [->|]; [contradiction|reflexivity].
  - destruct I as [E|I]; [contradiction|]. rewrite IH; auto. lra.
Qed.

Lemma NoDup_list_prod {A B} (s : list A) (t : list B) : NoDup s -> NoDup t -> NoDup (list_prod s t).
Proof.
  intros Ns Nt. induction Ns as [|a s out Ns IH]; simpl; [constructor|].
  assert (Na : NoDup (map (fun b => (a, b)) t)).
  { clear - Nt. induction Nt as [|b t out Nt IH]; simpl; constructor; auto.
    rewrite in_map_iff. intros [c [E I]]. injection E as ->. contradiction. }
  revert Na. assert (D : forall z, In z (map (fun b => (a, b)) t) -> ~ In z (list_prod s t)).
  { intros [c d] I J. apply in_prod_iff in J. apply in_map_iff in I. destruct I as [e [E _]]. injection E as -> ->.
    tauto. }
  revert D. generalize (map (fun b => (a, b)) t). intros l D Nl.
  induction Nl as [|z l outz Nl IHl]; simpl; auto. constructor.
  - rewrite in_app_iff. intros [I|I]; [contradiction|]. apply (D z); simpl; auto.
  - apply IHl. intros w I. apply D. now right.
Qed.

(* The divergence is the largest excess of an event's probability. *)

Section Pairs.
Context {A : Type}.
Variables (outcomes : list A) (p q : A -> R).

Theorem hockey_stick_bounds_events : forall c event,
  probability outcomes p event - c * probability outcomes q event <= hockey_stick outcomes c p q.
Proof.
  intros c event. unfold probability, hockey_stick. rewrite <- sum_scal, <- sum_minus. apply sum_le. intros a _.
  destruct (event a); [apply Rmax_r|]. apply Rle_trans with 0; [lra|apply Rmax_l].
Qed.

Theorem hockey_stick_is_attained : forall c, exists event,
  probability outcomes p event - c * probability outcomes q event = hockey_stick outcomes c p q.
Proof.
  intros c. exists (fun a => if Rlt_dec 0 (p a - c * q a) then true else false).
  unfold probability, hockey_stick. rewrite <- sum_scal, <- sum_minus. apply sum_ext. intros a _.
  destruct (Rlt_dec 0 (p a - c * q a)); [rewrite Rmax_right|rewrite Rmax_left]; lra.
Qed.

Theorem privacy_of_pair_is_profile : forall epsilon delta,
  approximately_private_pair outcomes p q epsilon delta <-> profile outcomes p q epsilon <= delta.
Proof.
  intros epsilon delta. unfold profile. split.
  - intros H. destruct (hockey_stick_is_attained (exp epsilon)) as [event <-]. specialize (H event). lra.
  - intros H event. generalize (hockey_stick_bounds_events (exp epsilon) event). lra.
Qed.

(* Pure privacy is a bound on the ratio of each outcome's probabilities. *)
Theorem pure_privacy_is_likelihood_ratio : forall epsilon,
  purely_private_pair outcomes p q epsilon <-> forall a, In a outcomes -> p a <= exp epsilon * q a.
Proof.
  intros epsilon. unfold purely_private_pair. rewrite privacy_of_pair_is_profile. unfold profile, hockey_stick. split.
  - intros H a I.
    assert (K := term_le_sum outcomes (fun a => Rmax 0 (p a - exp epsilon * q a)) a (fun b _ => Rmax_l _ _) I).
    simpl in K. generalize (Rmax_r 0 (p a - exp epsilon * q a)). lra.
  - intros H. apply Rle_trans with (sum outcomes (fun _ => 0)); [|rewrite sum_const; lra].
    apply sum_le. intros a I. rewrite Rmax_left; [lra|]. specialize (H a I). lra.
Qed.

End Pairs.

(* Post-processing. *)

Lemma Rmax_sum_le {A} (s : list A) f : Rmax 0 (sum s f) <= sum s (fun a => Rmax 0 (f a)).
Proof.
  apply Rmax_lub; [apply sum_nonnegative; intros; apply Rmax_l | apply sum_le; intros; apply Rmax_r].
Qed.

Lemma Rmax_times x k : 0 <= k -> Rmax 0 (x * k) = Rmax 0 x * k.
Proof. intros K. rewrite (Rmult_comm (Rmax 0 x)), <- RmaxRmult by exact K. f_equal; ring. Qed.

Theorem postprocessing_is_a_law : forall A B (outcomes : list A) (results : list B) K p,
  NoDup results -> is_law outcomes p -> is_stochastic outcomes results K ->
  is_law results (postprocessed outcomes K p).
Proof.
  intros A B outcomes results K p N [_ [P one]] S. unfold postprocessed. repeat split; [exact N| |].
  - intros b Ib. apply sum_nonnegative. intros a Ia. apply Rmult_le_pos; [apply P|apply (S a Ia)]; assumption.
  - rewrite sum_swap, <- one. apply sum_ext. intros a Ia. rewrite sum_scal. destruct (S a Ia) as [_ [_ ->]]. ring.
Qed.

Theorem postprocessing_does_not_increase_divergence : forall A B (outcomes : list A) (results : list B) K p q c,
  is_stochastic outcomes results K ->
  hockey_stick results c (postprocessed outcomes K p) (postprocessed outcomes K q) <= hockey_stick outcomes c p q.
Proof.
  intros A B outcomes results K p q c S. unfold hockey_stick, postprocessed.
  apply Rle_trans with (sum results (fun b => sum outcomes (fun a => Rmax 0 (p a - c * q a) * K a b))).
  - apply sum_le. intros b Ib. rewrite <- sum_scal, <- sum_minus.
    apply Rle_trans with (1 := Rmax_sum_le outcomes _), sum_le. intros a Ia.
    replace (p a * K a b - c * (q a * K a b)) with ((p a - c * q a) * K a b) by ring.
    rewrite Rmax_times; [lra|]. now apply (S a Ia).
  - rewrite sum_swap. apply Req_le, sum_ext. intros a Ia. rewrite sum_scal. destruct (S a Ia) as [_ [_ ->]]. ring.
Qed.

Theorem postprocessing_keeps_privacy : forall Input A B (outcomes : list A) (results : list B) 
    (neighbours : Input -> Input -> Prop) (M : Input -> A -> R) (K : A -> B -> R)
    epsilon delta,
  is_stochastic outcomes results K -> approximately_private outcomes neighbours M epsilon delta ->
  approximately_private results neighbours (fun x => postprocessed outcomes K (M x)) epsilon delta.
Proof.
  intros Input A B outcomes results neighbours M K epsilon delta S H x y near.
  apply privacy_of_pair_is_profile. specialize (H x y near). apply privacy_of_pair_is_profile in H.
  apply Rle_trans with (2 := H). now apply postprocessing_does_not_increase_divergence.
Qed.

(* Dominating pairs. *)

Theorem dominating_pair_bounds_every_profile : forall B Input A (of_pair : list B) P Q (outcomes : list A) 
    (neighbours : Input -> Input -> Prop) (M : Input -> A -> R),
  dominates of_pair P Q outcomes neighbours M ->
  forall x y epsilon, neighbours x y -> profile outcomes (M x) (M y) epsilon <= profile of_pair P Q epsilon.
Proof. intros B Input A of_pair P Q outcomes neighbours M H x y epsilon near. apply H; [exact near|].
  apply Rlt_le, exp_pos. Qed.

Theorem dominating_pair_proves_privacy : forall B Input A (of_pair : list B) P Q (outcomes : list A) 
    (neighbours : Input -> Input -> Prop) (M : Input -> A -> R) epsilon delta,
  dominates of_pair P Q outcomes neighbours M -> profile of_pair P Q epsilon <= delta ->
  approximately_private outcomes neighbours M epsilon delta.
Proof.
  intros B Input A of_pair P Q outcomes neighbours M epsilon delta H small x y near. apply privacy_of_pair_is_profile.
  apply Rle_trans with (2 := small). eapply dominating_pair_bounds_every_profile; eassumption.
Qed.

(* A pair of which every pair of the mechanism is a post-processing. *)
Theorem postprocessing_dominates : forall B Input A (of_pair : list B) P Q (outcomes : list A) 
    (neighbours : Input -> Input -> Prop) (M : Input -> A -> R),
  (forall x y, neighbours x y -> exists K, is_stochastic of_pair outcomes K /\
    (forall a, In a outcomes -> M x a = postprocessed of_pair K P a /\ M y a = postprocessed of_pair K Q a)) ->
  dominates of_pair P Q outcomes neighbours M.
Proof.
  intros B Input A of_pair P Q outcomes neighbours M H x y near c _. destruct (H x y near) as [K [S E]].
  apply Rle_trans with (2 := postprocessing_does_not_increase_divergence _ _ _ _ K P Q c S).
  apply Req_le, sum_ext. intros a Ia. destruct (E a Ia) as [-> ->]. reflexivity.
Qed.

(* Composition. *)

Theorem composition_is_a_law : forall A B (first : list A) (second : list B) p r,
  NoDup second -> is_law first p -> is_stochastic first second r -> is_law (list_prod first second) (composed p r).
Proof.
  intros A B first second p r N [Np [P one]] S. repeat split.
  - now apply NoDup_list_prod.
  - intros [a b] I. apply in_prod_iff in I. destruct I as [Ia Ib]. unfold composed; simpl.
    apply Rmult_le_pos; [now apply P|now apply (S a Ia)].
  - rewrite sum_list_prod, <- one. apply sum_ext. intros a Ia. unfold composed; simpl. rewrite sum_scal.
    destruct (S a Ia) as [_ [_ ->]]. ring.
Qed.

Theorem product_is_a_law : forall A B (first : list A) (second : list B) p r,
  is_law first p -> is_law second r -> is_law (list_prod first second) (product p r).
Proof.
  intros A B first second p r P S. apply (composition_is_a_law _ _ first second p (fun _ => r)); auto.
  - apply S.
  - intros a _. exact S.
Qed.

(* The profile of a product is the sum over pairs of outcomes. *)
Theorem profile_of_product : forall A B (first : list A) (second : list B) p q r t epsilon,
  profile (list_prod first second) (product p r) (product q t) epsilon =
  sum first (fun a => sum second (fun b => Rmax 0 (p a * r b - exp epsilon * (q a * t b)))).
Proof. intros. unfold profile, hockey_stick. rewrite sum_list_prod. reflexivity. Qed.

Theorem composition_of_pure_privacy : forall A B (first : list A) (second : list B) p q r t one two,
  is_law first p -> is_stochastic first second r ->
  (forall a, In a first -> p a <= exp one * q a) ->
  (forall a b, In a first -> In b second -> r a b <= exp two * t a b) ->
  purely_private_pair (list_prod first second) (composed p r) (composed q t) (one + two).
Proof.
  intros A B first second p q r t one two P S H K. apply pure_privacy_is_likelihood_ratio.
  intros [a b] I. apply in_prod_iff in I. destruct I as [Ia Ib]. unfold composed; simpl.
  specialize (H a Ia). specialize (K a b Ia Ib). rewrite exp_plus.
  assert (0 <= p a) by now apply P. assert (0 <= r a b) by now apply (S a Ia).
  replace (exp one * exp two * (q a * t a b)) with ((exp one * q a) * (exp two * t a b)) by ring.
  apply Rmult_le_compat; assumption.
Qed.

(* Basic composition; the second mechanism may depend on the first outcome. *)
Theorem composition_of_approximate_privacy : forall A B (first : list A) (second : list B) p q r t
    epsilon1 delta1 epsilon2 delta2,
  is_law first p -> is_law first q -> is_stochastic first second r -> is_stochastic first second t ->
  approximately_private_pair first p q epsilon1 delta1 ->
  (forall a, In a first -> approximately_private_pair second (r a) (t a) epsilon2 delta2) ->
  approximately_private_pair (list_prod first second) (composed p r) (composed q t)
    (epsilon1 + epsilon2) (delta1 + delta2).
Proof.
  intros A B first second p q r t e1 d1 e2 d2 [_ [P one]] [_ [Q _]] S T H K. apply privacy_of_pair_is_profile.
  apply privacy_of_pair_is_profile in H. unfold profile, hockey_stick in *. rewrite sum_list_prod, exp_plus.
  apply Rle_trans with (sum first (fun a => Rmax 0 (p a - exp e1 * q a) + d2 * p a)).
  - apply sum_le. intros a Ia. specialize (P a Ia). specialize (Q a Ia). specialize (K a Ia).
    apply privacy_of_pair_is_profile in K. unfold profile, hockey_stick in K.
    destruct (S a Ia) as [_ [R1 total]]. destruct (T a Ia) as [_ [T1 _]].
    apply Rle_trans with (sum second (fun b =>
      Rmax 0 (p a - exp e1 * q a) * r a b + p a * Rmax 0 (r a b - exp e2 * t a b))).
    + apply sum_le. intros b Ib. specialize (R1 b Ib). specialize (T1 b Ib). unfold composed; simpl.
      assert (0 < exp e1) by apply exp_pos. assert (0 < exp e2) by apply exp_pos.
      assert (X := Rmax_l 0 (p a - exp e1 * q a)). assert (Y := Rmax_l 0 (r a b - exp e2 * t a b)).
      assert (Z := Rmax_r 0 (r a b - exp e2 * t a b)).
      apply Rmax_lub; [apply Rplus_le_le_0_compat; apply Rmult_le_pos; assumption|].
      destruct (Rle_dec (p a) (exp e1 * q a)) as [below|above].
      * rewrite (Rmax_left 0 (p a - exp e1 * q a)) by lra.
        assert (p a * (exp e2 * t a b) <= exp e1 * q a * (exp e2 * t a b))
          by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
        assert (p a * (r a b - exp e2 * t a b) <= p a * Rmax 0 (r a b - exp e2 * t a b))
          by (apply Rmult_le_compat_l; lra).
        lra.
      * rewrite (Rmax_right 0 (p a - exp e1 * q a)) by lra.
        assert (exp e1 * q a * (r a b - exp e2 * t a b) <= exp e1 * q a * Rmax 0 (r a b - exp e2 * t a b))
          by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
        assert (exp e1 * q a * Rmax 0 (r a b - exp e2 * t a b) <= p a * Rmax 0 (r a b - exp e2 * t a b))
          by (apply Rmult_le_compat_r; lra).
        lra.
    + rewrite sum_plus, !sum_scal, total.
      assert (p a * sum second (fun b => Rmax 0 (r a b - exp e2 * t a b)) <= p a * d2)
        by (apply Rmult_le_compat_l; assumption). lra.
  - rewrite sum_plus, sum_scal, one. lra.
Qed.

Lemma divergence_of_multiples : forall B A (of_pair : list B) P Q (outcomes : list A) p q u v,
  pair_dominates of_pair P Q outcomes p q -> (forall a, In a outcomes -> 0 <= q a) ->
  (forall b, In b of_pair -> 0 <= Q b) -> 0 <= u -> 0 <= v ->
  sum outcomes (fun a => Rmax 0 (u * p a - v * q a)) <= sum of_pair (fun b => Rmax 0 (u * P b - v * Q b)).
Proof.
  intros B A of_pair P Q outcomes p q u v D q0 Q0 U V. destruct (Req_dec u 0) as [->|nonzero].
  - apply Rle_trans with 0; [|apply sum_nonnegative; intros; apply Rmax_l].
    apply Rle_trans with (sum outcomes (fun _ => 0)); [|rewrite sum_const; lra].
    apply sum_le. intros a Ia. apply Rmax_lub; [lra|]. assert (0 <= v * q a) by (apply Rmult_le_pos; auto). lra.
  - assert (0 < u) by lra.
    assert (scaled : forall x y, Rmax 0 (u * x - v * y) = u * Rmax 0 (x - v / u * y)).
    { intros x y. rewrite (Rmult_comm u (Rmax _ _)), <- Rmax_times by assumption. f_equal. now field. }
    rewrite (sum_ext outcomes _ _ (fun a _ => scaled (p a) (q a))).
    rewrite (sum_ext of_pair _ _ (fun b _ => scaled (P b) (Q b))), !sum_scal.
    apply Rmult_le_compat_l; [exact U|]. apply D.
    apply Rmult_le_pos; [exact V|]. now apply Rlt_le, Rinv_0_lt_compat.
Qed.

(* Adaptive composition of dominating pairs (Zhu, Dong and Wang 2022, theorem 10). *)
Theorem composition_of_dominating_pairs : forall A B C D (first : list A) (second : list B)
    (pair1 : list C) (pair2 : list D) p q r t P1 Q1 P2 Q2,
  is_law first p -> is_law first q -> is_stochastic first second r -> is_stochastic first second t ->
  is_law pair1 P1 -> is_law pair1 Q1 -> is_law pair2 P2 -> is_law pair2 Q2 ->
  pair_dominates pair1 P1 Q1 first p q ->
  (forall a, In a first -> pair_dominates pair2 P2 Q2 second (r a) (t a)) ->
  pair_dominates (list_prod pair1 pair2) (product P1 P2) (product Q1 Q2)
    (list_prod first second) (composed p r) (composed q t).
Proof.
  intros A B C D first second pair1 pair2 p q r t P1 Q1 P2 Q2 [_ [p0 _]] [_ [q0 _]] S T [_ [P10 _]] [_ [Q10 _]]
    [_ [P20 _]] [_ [Q20 _]] dom1 dom2 c Hc.
  unfold hockey_stick. rewrite !sum_list_prod. unfold composed, product; simpl.
  apply Rle_trans with (sum first (fun a => sum pair2 (fun d => Rmax 0 (p a * P2 d - c * q a * Q2 d)))).
  - apply sum_le. intros a Ia.
    rewrite (sum_ext second _ (fun b => Rmax 0 (p a * r a b - c * q a * t a b)))
      by (intros; f_equal; ring).
    apply divergence_of_multiples; auto.
    + intros b Ib. now apply (T a Ia).
    + apply Rmult_le_pos; auto.
  - rewrite sum_swap, (sum_swap pair1 pair2). apply sum_le. intros d Id.
    rewrite (sum_ext first _ (fun a => Rmax 0 (P2 d * p a - c * Q2 d * q a))) by (intros; f_equal; ring).
    rewrite (sum_ext pair1 _ (fun b => Rmax 0 (P2 d * P1 b - c * Q2 d * Q1 b))) by (intros; f_equal; ring).
    apply divergence_of_multiples; auto. apply Rmult_le_pos; auto.
Qed.

(* Neighbours. *)

Theorem add_or_remove_one_is_symmetric : forall Record (x y : list Record),
  add_or_remove_one x y -> add_or_remove_one y x.
Proof. unfold add_or_remove_one. tauto. Qed.

Theorem replace_one_is_symmetric : forall Record (x y : list Record), replace_one x y -> replace_one y x.
Proof. intros Record x y (before & old & new & after & -> & ->). now exists before, new, old, after. Qed.

Theorem replacing_is_removing_and_adding : forall Record (x y : list Record),
  replace_one x y -> exists between, add_or_remove_one x between /\ add_or_remove_one between y.
Proof.
  intros Record x y (before & old & new & after & -> & ->). exists (before ++ after). split.
  - right. now exists before, old, after.
  - left. now exists before, new, after.
Qed.

Theorem pure_privacy_when_one_is_replaced : forall Record A (outcomes : list A) (M : list Record -> A -> R) epsilon,
  purely_private outcomes add_or_remove_one M epsilon -> purely_private outcomes replace_one M (2 * epsilon).
Proof.
  intros Record A outcomes M epsilon H x y near. apply pure_privacy_is_likelihood_ratio. intros a Ia.
  destruct (replacing_is_removing_and_adding _ _ _ near) as [z [xz zy]].
  assert (K := proj1 (pure_privacy_is_likelihood_ratio _ _ _ _) (H x z xz) a Ia).
  assert (L := proj1 (pure_privacy_is_likelihood_ratio _ _ _ _) (H z y zy) a Ia).
  replace (2 * epsilon) with (epsilon + epsilon) by ring. rewrite exp_plus, Rmult_assoc.
  apply Rle_trans with (1 := K), Rmult_le_compat_l; [apply Rlt_le, exp_pos|exact L].
Qed.

(* Randomised response. *)

Lemma normaliser_is_positive k epsilon : (0 < k)%nat -> 0 < exp epsilon + INR k - 1.
Proof. intros K. apply lt_INR in K. apply Rplus_lt_reg_r with 1. assert (1 <= INR k).
  { apply (le_INR 1). apply INR_lt in K. exact K. } assert (0 < exp epsilon) by apply exp_pos. lra. Qed.

Lemma sum_over_answers k i j x y z : (i < k)%nat -> (j < k)%nat -> i <> j ->
  sum (answers k) (fun a => if Nat.eqb a i then x else if Nat.eqb a j then y else z) = x + y + (INR k - 2) * z.
Proof.
  intros I J different.
  rewrite (sum_ext _ _ (fun a => (if Nat.eqb a i then x - z else 0) + (if Nat.eqb a j then y - z else 0) + z)).
  - rewrite !sum_plus, sum_const, !sum_at; unfold answers; try apply seq_NoDup; try (apply in_seq; lia).
    rewrite seq_length. ring.
  - intros a _. destruct (Nat.eqb_spec a i), (Nat.eqb_spec a j); try lra. congruence.
Qed.

Theorem randomised_response_is_a_law : forall k epsilon truth,
  (truth < k)%nat -> is_law (answers k) (randomised_response k epsilon truth).
Proof.
  intros k epsilon truth T. assert (Z : 0 < exp epsilon + INR k - 1) by (apply normaliser_is_positive; lia).
  unfold randomised_response. repeat split.
  - apply seq_NoDup.
  - intros a _. assert (0 < exp epsilon) by apply exp_pos. apply Rmult_le_pos.
    + destruct (Nat.eqb a truth); lra.
    + now apply Rlt_le, Rinv_0_lt_compat.
  - rewrite (sum_ext _ _ (fun a =>
      / (exp epsilon + INR k - 1) * ((if Nat.eqb a truth then exp epsilon - 1 else 0) + 1))).
    + rewrite sum_scal, sum_plus, sum_const, sum_at; unfold answers; [|apply seq_NoDup|apply in_seq; lia].
      rewrite seq_length. field. lra.
    + intros a _. unfold Rdiv. destruct (Nat.eqb a truth); ring.
Qed.

(* The profile of a pair, at every epsilon', also a negative one. *)
Theorem randomised_response_profile : forall k epsilon truth other epsilon', other_answer k truth other ->
  profile (answers k) (randomised_response k epsilon truth) (randomised_response k epsilon other) epsilon' =
  (Rmax 0 (exp epsilon - exp epsilon') + Rmax 0 (1 - exp (epsilon' + epsilon))
    + (INR k - 2) * Rmax 0 (1 - exp epsilon'))
  / (exp epsilon + INR k - 1).
Proof.
  intros k epsilon i j t (I & J & different).
  assert (Z : 0 < exp epsilon + INR k - 1) by (apply normaliser_is_positive; lia).
  assert (0 <= / (exp epsilon + INR k - 1)) by now apply Rlt_le, Rinv_0_lt_compat.
  unfold profile, hockey_stick, randomised_response, Rdiv.
  rewrite (sum_ext _ _ (fun a => / (exp epsilon + INR k - 1) *
    (if Nat.eqb a i then Rmax 0 (exp epsilon - exp t) else
     if Nat.eqb a j then Rmax 0 (1 - exp (t + epsilon)) else Rmax 0 (1 - exp t)))).
  - rewrite sum_scal, sum_over_answers by assumption. ring.
  - intros a _. rewrite exp_plus. rewrite (Rmult_comm (/ _)).
    destruct (Nat.eqb_spec a i) as [at_i|]; [|destruct (Nat.eqb_spec a j)].
    + rewrite at_i, (proj2 (Nat.eqb_neq i j) different), <- Rmax_times by assumption. f_equal. ring.
    + rewrite <- Rmax_times by assumption. f_equal. ring.
    + rewrite <- Rmax_times by assumption. f_equal. ring.
Qed.

(* Where both are nonnegative, one term is left. *)
Theorem randomised_response_closed_form : forall k epsilon truth other epsilon',
  other_answer k truth other -> 0 <= epsilon -> 0 <= epsilon' ->
  profile (answers k) (randomised_response k epsilon truth) (randomised_response k epsilon other) epsilon' =
  Rmax 0 (exp epsilon - exp epsilon') / (exp epsilon + INR k - 1).
Proof.
  intros k epsilon i j t different E T. rewrite randomised_response_profile by assumption.
  assert (at_least_one : forall x, 0 <= x -> 1 <= exp x) by (intros x X; generalize (exp_ineq1_le x); lra).
  rewrite (Rmax_left 0 (1 - exp (t + epsilon))) by (generalize (at_least_one (t + epsilon)); lra).
  rewrite (Rmax_left 0 (1 - exp t)) by (generalize (at_least_one t); lra).
  f_equal. ring.
Qed.

Theorem randomised_response_on_two_answers : forall epsilon epsilon', 0 <= epsilon -> 0 <= epsilon' ->
  profile (answers 2) (randomised_response 2 epsilon 0) (randomised_response 2 epsilon 1) epsilon' =
  Rmax 0 (exp epsilon - exp epsilon') / (exp epsilon + 1).
Proof.
  intros epsilon t E T. rewrite randomised_response_closed_form by (assumption || (unfold other_answer; lia)).
  f_equal. simpl. ring.
Qed.

(* All pairs of answers: private if and only if delta is at least the profile. *)
Theorem randomised_response_is_private : forall k epsilon epsilon' delta,
  (2 <= k)%nat -> 0 <= epsilon -> 0 <= epsilon' ->
  approximately_private (answers k) (other_answer k) (randomised_response k epsilon) epsilon' delta <->
  Rmax 0 (exp epsilon - exp epsilon') / (exp epsilon + INR k - 1) <= delta.
Proof.
  intros k epsilon t delta K E T. split.
  - intros H. assert (near : other_answer k 0 1) by (unfold other_answer; lia).
    specialize (H 0%nat 1%nat near). apply privacy_of_pair_is_profile in H.
    now rewrite randomised_response_closed_form in H.
  - intros H i j near. apply privacy_of_pair_is_profile. now rewrite randomised_response_closed_form.
Qed.

Theorem randomised_response_is_purely_private : forall k epsilon, (2 <= k)%nat -> 0 <= epsilon ->
  purely_private (answers k) (other_answer k) (randomised_response k epsilon) epsilon.
Proof.
  intros k epsilon K E. apply randomised_response_is_private; try assumption.
  rewrite Rminus_diag_eq, Rmax_left by lra. unfold Rdiv. lra.
Qed.

(* Tests. *)

Theorem tests_of_a_private_pair : forall A (outcomes : list A) p q epsilon delta rejects,
  is_law outcomes p -> approximately_private_pair outcomes p q epsilon delta -> is_test outcomes rejects ->
  1 - first_error outcomes p rejects <= exp epsilon * second_error outcomes q rejects + delta.
Proof.
  intros A outcomes p q epsilon delta rejects [_ [_ one]] H test. apply privacy_of_pair_is_profile in H.
  unfold profile, hockey_stick, first_error, second_error in *.
  assert (sum outcomes (fun a => (1 - rejects a) * p a) - exp epsilon * sum outcomes (fun a => (1 - rejects a) * q a) <=
    sum outcomes (fun a => Rmax 0 (p a - exp epsilon * q a))).
  { rewrite <- sum_scal, <- sum_minus. apply sum_le. intros a Ia. specialize (test a Ia).
    assert (L := Rmax_l 0 (p a - exp epsilon * q a)). assert (M := Rmax_r 0 (p a - exp epsilon * q a)). nra. }
  assert (E : sum outcomes (fun a => (1 - rejects a) * p a) = sum outcomes p - sum outcomes (fun a => rejects a * p a)).
  { rewrite <- sum_minus. apply sum_ext. intros; ring. }
  lra.
Qed.
